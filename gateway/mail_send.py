"""One mail through one server of the operator's own, with the standard library.

Guarantees: TLS with a checked certificate unless the file of channels says otherwise; no password without it; an error
is a stable word, without anything the server said.
"""

from __future__ import annotations

import smtplib
import ssl
from email.message import EmailMessage

from checkvalve.gateway.channel_file import Mail, secret_text
from checkvalve.gateway.safe_post import TIMEOUT, Answered

_FATAL = 500  # from this code on a server means never


def send_mail(channel: Mail, message: EmailMessage) -> Answered:
    """Hand ``message`` to the server. Never raises for what the server or the network does."""
    context = ssl.create_default_context(cafile=None if channel.ca_file is None else str(channel.ca_file))
    try:
        if channel.tls == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(channel.host, channel.port, timeout=TIMEOUT, context=context)
        else:
            server = smtplib.SMTP(channel.host, channel.port, timeout=TIMEOUT)
        with server:
            if channel.tls == "starttls":
                server.starttls(context=context)
            if channel.password_file is not None:
                server.login(channel.username, secret_text(channel.password_file).strip())
            server.send_message(message, from_addr=channel.sender, to_addrs=list(channel.to))
    except ssl.SSLError:
        return Answered(code="bad_certificate")
    except smtplib.SMTPNotSupportedError:
        return Answered(code="no_tls")
    except smtplib.SMTPAuthenticationError:
        return Answered(code="not_let_in")
    except smtplib.SMTPRecipientsRefused:
        return Answered(code="recipients_refused")
    except smtplib.SMTPResponseException as error:
        return Answered(code="refused" if error.smtp_code >= _FATAL else "not_now")
    except (OSError, smtplib.SMTPException, UnicodeError):
        return Answered(code="not_connected")
    return Answered(200, sent=True)


__all__ = ["send_mail"]
