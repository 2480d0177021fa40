"""The adversarial self-test: a seeded search that tries to launder a value past attribution.

Each attempt has an honest user, tool results whose outsider-writable fields are the attacker's, and a hijacked actor.
It is built so that the answer is known beforehand, and is judged by the same ``decide`` as every call.
"""
