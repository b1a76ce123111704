"""A client of profile fapi2 with Authlib. Each line of its input is a run, as JSON; it prints the address that the user
is to open, reads where the browser ended, and prints the result of the run as JSON.

Authlib has OAuth2Session, private_key_jwt, PKCE, the checks of ID tokens and JOSE (authlib.jose, and joserfc, which
replaces it). It has nothing for PAR, DPoP, request objects and JARM of a client: here these are a few lines each on top
of its sessions and of its JOSE.
"""

import base64
import hashlib
import json
import sys
import time
import warnings
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import requests
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Auth, OAuth2Session
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, RSAKey, import_key
from joserfc.jwt import JWTClaimsRegistry

# JARM is checked with the module that most programs still use.
warnings.simplefilter("ignore")
from authlib.jose import JsonWebKey, JsonWebToken  # noqa: E402
from authlib.jose.errors import JoseError  # noqa: E402

INTROSPECTION = "token-introspection+jwt"


def add_dpop_token(token, uri, headers, body, placement):
    headers["Authorization"] = f"DPoP {token}"
    return uri, headers, body


class DPoPAuth(OAuth2Auth):
    """Authlib knows bearer tokens only, but asks a table how to send a token."""

    SIGN_METHODS = {"dpop": add_dpop_token}


class DPoPSession(OAuth2Session):
    """Sends every request with a proof (RFC 9449). No nonce is remembered, so that every endpoint has to ask for one;
    then the same request, with the same assertion and code, is sent again."""

    token_auth_class = DPoPAuth

    def __init__(self, *args: Any, alg: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.alg = alg
        self.nonces_demanded = 0
        self.change_key()

    def change_key(self) -> None:
        self.proof_key = ECKey.generate_key("P-256") if self.alg == "ES256" else RSAKey.generate_key(2048)

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
        answer = super().send(self.prove(request, None), **kwargs)
        if not asks_nonce(answer):
            return answer
        self.nonces_demanded += 1
        return super().send(self.prove(request, answer.headers["DPoP-Nonce"]), **kwargs)

    def prove(self, request: requests.PreparedRequest, nonce: str | None) -> requests.PreparedRequest:
        address = urlsplit(request.url)._replace(query="", fragment="").geturl()
        claims = {"jti": generate_token(), "htm": request.method, "htu": address, "iat": int(time.time())}
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme == "DPoP":
            digest = hashlib.sha256(token.encode()).digest()
            claims["ath"] = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if nonce is not None:
            claims["nonce"] = nonce
        header = {"typ": "dpop+jwt", "alg": self.alg, "jwk": self.proof_key.as_dict(private=False)}
        request.headers["DPoP"] = jwt.encode(header, claims, self.proof_key, algorithms=[self.alg])
        return request


def asks_nonce(answer: requests.Response) -> bool:
    if answer.status_code == 401:
        return error_of(answer) == "use_dpop_nonce"
    return answer.status_code == 400 and answer.json().get("error") == "use_dpop_nonce"


def error_of(answer: requests.Response) -> str:
    """The error of a resource, in its challenge."""
    return answer.headers.get("WWW-Authenticate", "").partition('error="')[2].partition('"')[0]


class Run:
    def __init__(self, wishes: dict[str, Any]) -> None:
        self.issuer, self.client_id, self.alg = wishes["issuer"], wishes["clientId"], wishes["alg"]
        self.is_signed, self.key = wishes["isSigned"], import_key(wishes["key"])
        self.server = requests.get(f"{self.issuer}/.well-known/oauth-authorization-server", timeout=30).json()
        assert self.server["issuer"] == self.issuer
        self.keys = requests.get(self.server["jwks_uri"], timeout=30).json()
        self.session = DPoPSession(
            self.client_id,
            self.key,
            alg=self.alg,
            token_endpoint_auth_method="private_key_jwt",
            revocation_endpoint_auth_method="private_key_jwt",
            scope=wishes["scope"],
            redirect_uri=wishes["redirect"],
            code_challenge_method="S256",
        )
        # The audience is the issuer (FAPI 2.0 §5.3.2.1), not the token endpoint.
        method = PrivateKeyJWT(self.issuer, headers={"kid": self.key.kid}, alg=self.alg)
        self.session.register_client_auth_method(method)

    def run(self) -> dict[str, Any]:
        session, token_endpoint = self.session, self.server["token_endpoint"]
        verifier, nonce = generate_token(64), generate_token()
        start, state = session.create_authorization_url(
            self.server["authorization_endpoint"],
            code_verifier=verifier,
            nonce=nonce,
            dpop_jkt=session.proof_key.thumbprint(),
            **({"response_mode": "jwt"} if self.is_signed else {}),
        )
        print("open", self.push(dict(parse_qsl(urlsplit(start).query))), flush=True)
        answer = sys.stdin.readline().strip()
        if self.is_signed:
            code = {"code": self.code_by_jarm(answer, state)}
        else:
            assert dict(parse_qsl(urlsplit(answer).query))["iss"] == self.issuer
            code = {"authorization_response": answer, "state": state}
        first = session.fetch_token(token_endpoint, code_verifier=verifier, **code)
        subject = self.check_id_token(first, nonce)
        assert self.query().status_code == 200
        assert session.get(self.server["userinfo_endpoint"]).json()["sub"] == subject

        former = session.proof_key
        session.change_key()
        second = session.refresh_token(token_endpoint)
        assert second["token_type"] == "DPoP"
        assert second["refresh_token"] == first["refresh_token"]
        assert self.query().status_code == 200
        description = self.introspect(second["access_token"])
        assert description["active"] is True
        assert description["cnf"]["jkt"] == session.proof_key.thumbprint()
        demanded = session.nonces_demanded
        current, session.proof_key = session.proof_key, former
        refused = error_of(self.query())
        session.proof_key = current
        revoked = session.revoke_token(self.server["revocation_endpoint"], second["refresh_token"], "refresh_token")
        assert revoked.status_code == 200, revoked.text
        assert self.introspect(second["access_token"]) == {"active": False}
        assert error_of(self.query()) == "invalid_token"
        return {"subject": subject, "noncesDemanded": demanded, "refused": refused}

    def push(self, parameters: dict[str, str]) -> str:
        """RFC 9126, with a request object by RFC 9101 inside."""
        form = {"client_id": self.client_id, "request": self.sign(parameters)} if self.is_signed else parameters
        endpoint = self.server["pushed_authorization_request_endpoint"]
        answer = self.session.post(endpoint, data=form, auth=self.session.client_auth("private_key_jwt"))
        assert answer.status_code == 201, answer.text
        opened = {"client_id": self.client_id, "request_uri": answer.json()["request_uri"]}
        return f"{self.server['authorization_endpoint']}?{urlencode(opened)}"

    def sign(self, parameters: dict[str, str]) -> str:
        now = int(time.time())
        claims = {"iss": self.client_id, "aud": self.issuer, "nbf": now, "exp": now + 60, **parameters}
        header = {"typ": "oauth-authz-req+jwt", "alg": self.alg, "kid": self.key.kid}
        return jwt.encode(header, claims, self.key, algorithms=[self.alg])

    def code_by_jarm(self, answer: str, state: str) -> str:
        parameters = dict(parse_qsl(urlsplit(answer).query))
        assert list(parameters) == ["response"]

        def claims_for(audience: str) -> dict[str, Any]:
            expected = {"iss": self.issuer, "aud": audience}
            options = {name: {"essential": True, "value": value} for name, value in expected.items()}
            decoder = JsonWebToken([self.alg])
            claims = decoder.decode(
                parameters["response"],
                JsonWebKey.import_key_set(self.keys),
                claims_options={**options, "exp": {"essential": True}},
            )
            claims.validate()
            return claims

        try:
            claims_for("another")
        except JoseError:
            pass
        else:
            raise AssertionError("The response was accepted for another client")
        claims = claims_for(self.client_id)
        assert claims["state"] == state
        return claims["code"]

    def check_id_token(self, tokens: dict[str, Any], nonce: str) -> str:
        token = jwt.decode(tokens["id_token"], KeySet.import_key_set(self.keys), algorithms=[self.alg])
        known = {"nonce": nonce, "client_id": self.client_id, "access_token": tokens["access_token"]}
        claims = CodeIDToken(token.claims, token.header, {"iss": {"values": [self.issuer]}}, known)
        claims.validate()
        return claims["sub"]

    def query(self) -> requests.Response:
        return self.session.post(
            f"{self.issuer}/query?statement=1",
            data="select name from cataloguetables limit 1",
            headers={"Content-Type": "text/plain; charset=utf-8"},
        )

    def introspect(self, token: str) -> dict[str, Any]:
        """RFC 9701."""
        answer = requests.post(
            self.server["introspection_endpoint"],
            data={"token": token},
            headers={"Accept": f"application/{INTROSPECTION}"},
            auth=self.session.client_auth("private_key_jwt"),
            timeout=30,
        )
        assert answer.status_code == 200, answer.text
        assert answer.headers["Content-Type"] == f"application/{INTROSPECTION}"
        decoded = jwt.decode(answer.text, KeySet.import_key_set(self.keys), algorithms=[self.alg])
        assert decoded.header["typ"] == INTROSPECTION
        expected = {"iss": self.issuer, "aud": self.client_id}
        JWTClaimsRegistry(**{k: {"essential": True, "value": v} for k, v in expected.items()}).validate(decoded.claims)
        return decoded.claims["token_introspection"]


for line in sys.stdin:
    print(json.dumps(Run(json.loads(line)).run()), flush=True)
