"""A mail server of aiosmtpd for tests: STARTTLS and AUTH are required; it writes what it takes as lines of JSON.

Arguments: port, certificate file, key file (or "none" twice: no TLS, then AUTH is offered without it), user, password, a file whose lines
name recipients that are told to come later.
"""
import asyncio
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult

port, cert, key, user, password, later = sys.argv[1:]


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith('refused'):
            return '550 no such mailbox'
        with open(later) as names:
            if address in names.read().split():
                return '451 come back later'
        envelope.rcpt_tos.append(address)
        return '250 OK'

    async def handle_DATA(self, server, session, envelope):
        text = envelope.content.decode('latin1')
        print(json.dumps({
            'to': envelope.rcpt_tos,
            'secure': session.ssl is not None,
            'user': session.auth_data.decode() if session.auth_data else None,
            'text': text,
        }), flush=True)
        return '250 taken'


def check(server, session, envelope, mechanism, data):
    good = data.login.decode() == user and data.password.decode() == password
    if good:
        session.auth_data = data.login
    return AuthResult(success=good, auth_data=data.login if good else None, handled=False)


def serve():
    context = None
    if cert != 'none':
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
    return SMTP(
        Handler(),
        hostname='mail.test',
        tls_context=context,
        require_starttls=context is not None,
        auth_require_tls=context is not None,
        auth_required=True,
        authenticator=check,
    )


async def main():
    server = await asyncio.get_running_loop().create_server(serve, '127.0.0.1', int(port))
    print('ready', flush=True)
    await server.serve_forever()


asyncio.run(main())
