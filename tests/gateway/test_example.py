"""Without LangChain the error says what to install. What the README shows of it is followed in test_readme_flow."""

from __future__ import annotations

import subprocess
import sys


def test_without_the_extra_the_error_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['langchain.agents.middleware'] = None\n"
        "try:\n    import checkvalve.gateway.langchain\n"
        "except Exception as error:\n    print(type(error).__name__, '|', error, '|', error.remedy)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "MissingExtraError | LangChain is not installed | pip install 'checkvalve[langchain]'\n"
