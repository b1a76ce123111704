// A client of profile fapi2 with the OAuth 2.0 SDK of Nimbus. Each line of its input is a run, as JSON; it prints the address that
// the user is to open, reads where the browser ended, and prints the result of the run as JSON.
import com.nimbusds.common.contenttype.ContentType;
import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.factories.DefaultJWSSignerFactory;
import com.nimbusds.jose.jwk.AsymmetricJWK;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jose.jwk.gen.RSAKeyGenerator;
import com.nimbusds.jose.jwk.source.JWKSourceBuilder;
import com.nimbusds.jose.proc.BadJOSEException;
import com.nimbusds.jose.proc.DefaultJOSEObjectTypeVerifier;
import com.nimbusds.jose.proc.JWSVerificationKeySelector;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import com.nimbusds.jwt.proc.DefaultJWTClaimsVerifier;
import com.nimbusds.jwt.proc.DefaultJWTProcessor;
import com.nimbusds.oauth2.sdk.AuthorizationCode;
import com.nimbusds.oauth2.sdk.AuthorizationCodeGrant;
import com.nimbusds.oauth2.sdk.AuthorizationGrant;
import com.nimbusds.oauth2.sdk.AuthorizationRequest;
import com.nimbusds.oauth2.sdk.AuthorizationResponse;
import com.nimbusds.oauth2.sdk.OAuth2Error;
import com.nimbusds.oauth2.sdk.PushedAuthorizationRequest;
import com.nimbusds.oauth2.sdk.PushedAuthorizationResponse;
import com.nimbusds.oauth2.sdk.RefreshTokenGrant;
import com.nimbusds.oauth2.sdk.ResponseMode;
import com.nimbusds.oauth2.sdk.ResponseType;
import com.nimbusds.oauth2.sdk.Scope;
import com.nimbusds.oauth2.sdk.TokenErrorResponse;
import com.nimbusds.oauth2.sdk.TokenIntrospectionRequest;
import com.nimbusds.oauth2.sdk.TokenIntrospectionSuccessResponse;
import com.nimbusds.oauth2.sdk.TokenRequest;
import com.nimbusds.oauth2.sdk.TokenResponse;
import com.nimbusds.oauth2.sdk.TokenRevocationRequest;
import com.nimbusds.oauth2.sdk.as.AuthorizationServerMetadata;
import com.nimbusds.oauth2.sdk.auth.ClientAuthentication;
import com.nimbusds.oauth2.sdk.auth.JWTAuthenticationClaimsSet;
import com.nimbusds.oauth2.sdk.auth.PrivateKeyJWT;
import com.nimbusds.oauth2.sdk.dpop.DefaultDPoPProofFactory;
import com.nimbusds.oauth2.sdk.dpop.JWKThumbprintConfirmation;
import com.nimbusds.oauth2.sdk.http.HTTPRequest;
import com.nimbusds.oauth2.sdk.http.HTTPResponse;
import com.nimbusds.oauth2.sdk.id.Audience;
import com.nimbusds.oauth2.sdk.id.ClientID;
import com.nimbusds.oauth2.sdk.id.Issuer;
import com.nimbusds.oauth2.sdk.id.State;
import com.nimbusds.oauth2.sdk.jarm.JARMValidator;
import com.nimbusds.oauth2.sdk.pkce.CodeChallengeMethod;
import com.nimbusds.oauth2.sdk.pkce.CodeVerifier;
import com.nimbusds.oauth2.sdk.token.BearerTokenError;
import com.nimbusds.oauth2.sdk.token.DPoPAccessToken;
import com.nimbusds.oauth2.sdk.token.DPoPTokenError;
import com.nimbusds.oauth2.sdk.token.RefreshToken;
import com.nimbusds.oauth2.sdk.util.JSONObjectUtils;
import com.nimbusds.oauth2.sdk.util.URIUtils;
import com.nimbusds.openid.connect.sdk.AuthenticationRequest;
import com.nimbusds.openid.connect.sdk.Nonce;
import com.nimbusds.openid.connect.sdk.OIDCTokenResponse;
import com.nimbusds.openid.connect.sdk.OIDCTokenResponseParser;
import com.nimbusds.openid.connect.sdk.UserInfoRequest;
import com.nimbusds.openid.connect.sdk.UserInfoResponse;
import com.nimbusds.openid.connect.sdk.op.OIDCProviderMetadata;
import com.nimbusds.openid.connect.sdk.validators.IDTokenValidator;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.URL;
import java.time.Instant;
import java.util.Date;
import java.util.Set;
import net.minidev.json.JSONObject;

public final class Fapi2 {
  private static final String INTROSPECTION = "token-introspection+jwt";
  private static final BufferedReader INPUT = new BufferedReader(new InputStreamReader(System.in));

  private final Issuer issuer;
  private final ClientID clientId;
  private final URI redirect;
  private final Scope scope;
  private final JWSAlgorithm alg;
  private final JWK key;
  private final boolean isSigned;
  private final AuthorizationServerMetadata server;
  private final URL keySet;
  private DefaultDPoPProofFactory proofs;
  private int noncesDemanded = 0;

  public static void main(String[] arguments) throws Exception {
    for (String line = INPUT.readLine(); line != null; line = INPUT.readLine()) {
      JSONObject result = new Fapi2(JSONObjectUtils.parse(line)).run();
      System.out.println(result.toJSONString());
    }
  }

  private Fapi2(JSONObject wishes) throws Exception {
    issuer = new Issuer(JSONObjectUtils.getString(wishes, "issuer"));
    clientId = new ClientID(JSONObjectUtils.getString(wishes, "clientId"));
    redirect = JSONObjectUtils.getURI(wishes, "redirect");
    scope = Scope.parse(JSONObjectUtils.getString(wishes, "scope"));
    alg = JWSAlgorithm.parse(JSONObjectUtils.getString(wishes, "alg"));
    key = JWK.parse(JSONObjectUtils.getJSONObject(wishes, "key"));
    isSigned = JSONObjectUtils.getBoolean(wishes, "isSigned");
    server = AuthorizationServerMetadata.resolve(issuer);
    keySet = server.getJWKSetURI().toURL();
    check(OIDCProviderMetadata.resolve(issuer).getJWKSetURI().equals(server.getJWKSetURI()), "both documents agree");
    check(server.getDPoPJWSAlgs().contains(alg), "the metadata name the algorithm of proofs");
    check(server.supportsAuthorizationResponseIssuerParam(), "the metadata announce iss");
  }

  private JSONObject run() throws Exception {
    CodeVerifier verifier = new CodeVerifier();
    State state = new State();
    Nonce nonce = new Nonce();
    proofs = newProofs();

    URI opened = push(authenticationRequest(verifier, state, nonce));
    System.out.println("open " + opened);
    AuthorizationCode code = codeOf(URI.create(INPUT.readLine()), state);

    OIDCTokenResponse first = token(new AuthorizationCodeGrant(code, redirect, verifier));
    String subject =
        new IDTokenValidator(issuer, clientId, alg, keySet)
            .validate(first.getOIDCTokens().getIDToken(), nonce)
            .getSubject()
            .getValue();
    DPoPAccessToken token = first.getOIDCTokens().getDPoPAccessToken();
    check(query(token).getStatusCode() == 200, "the query is answered");
    check(userinfo(token).equals(subject), "userinfo has the subject of the ID token");

    DefaultDPoPProofFactory former = proofs;
    proofs = newProofs();
    OIDCTokenResponse second = token(new RefreshTokenGrant(first.getOIDCTokens().getRefreshToken()));
    DPoPAccessToken renewed = second.getOIDCTokens().getDPoPAccessToken();
    check(query(renewed).getStatusCode() == 200, "the query with the renewed token is answered");
    TokenIntrospectionSuccessResponse description = introspect(renewed);
    check(description.isActive(), "the token is active");
    JWKThumbprintConfirmation ours = JWKThumbprintConfirmation.of(proofs.getPublicJWK());
    check(ours.equals(description.getJWKThumbprintConfirmation()), "the token is bound to the new key");
    int demanded = noncesDemanded;
    DefaultDPoPProofFactory current = proofs;
    proofs = former;
    HTTPResponse stolen = query(renewed);
    check(stolen.getStatusCode() == 401, "the token is refused with another key");
    proofs = current;
    revoke(second.getOIDCTokens().getRefreshToken());
    check(!introspect(renewed).isActive(), "a revoked token is inactive");
    HTTPResponse late = query(renewed);
    check(BearerTokenError.INVALID_TOKEN.getCode().equals(errorOf(late)), "a revoked token is refused");

    JSONObject result = new JSONObject();
    result.put("subject", subject);
    result.put("noncesDemanded", demanded);
    result.put("refused", errorOf(stolen));
    return result;
  }

  private AuthenticationRequest authenticationRequest(CodeVerifier verifier, State state, Nonce nonce)
      throws Exception {
    AuthenticationRequest.Builder builder =
        new AuthenticationRequest.Builder(ResponseType.CODE, scope, clientId, redirect)
            .state(state)
            .nonce(nonce)
            .codeChallenge(verifier, CodeChallengeMethod.S256)
            .dPoPJWKThumbprintConfirmation(JWKThumbprintConfirmation.of(proofs.getPublicJWK()));
    return (isSigned ? builder.responseMode(ResponseMode.JWT) : builder).build();
  }

  /** RFC 9126, with a request object by RFC 9101 inside. */
  private URI push(AuthenticationRequest plain) throws Exception {
    AuthorizationRequest request =
        isSigned ? new AuthorizationRequest.Builder(signed(plain), clientId).build() : plain;
    URI endpoint = server.getPushedAuthorizationRequestEndpointURI();
    HTTPRequest http = new PushedAuthorizationRequest(endpoint, assertion(), request).toHTTPRequest();
    PushedAuthorizationResponse answer = PushedAuthorizationResponse.parse(send(http, null));
    check(answer.indicatesSuccess(), "the request was pushed");
    return new AuthorizationRequest.Builder(answer.toSuccessResponse().getRequestURI(), clientId)
        .endpointURI(server.getAuthorizationEndpointURI())
        .build()
        .toURI();
  }

  private SignedJWT signed(AuthenticationRequest request) throws Exception {
    Instant now = Instant.now();
    JWTClaimsSet claims =
        new JWTClaimsSet.Builder(request.toJWTClaimsSet())
            .issuer(clientId.getValue())
            .audience(issuer.getValue())
            .notBeforeTime(Date.from(now))
            .expirationTime(Date.from(now.plusSeconds(60)))
            .build();
    JOSEObjectType type = new JOSEObjectType("oauth-authz-req+jwt");
    SignedJWT jwt = new SignedJWT(new JWSHeader.Builder(alg).type(type).keyID(key.getKeyID()).build(), claims);
    jwt.sign(new DefaultJWSSignerFactory().createJWSSigner(key, alg));
    return jwt;
  }

  /** A code from a plain response, or from one by JARM. */
  private AuthorizationCode codeOf(URI answer, State state) throws Exception {
    AuthorizationResponse response =
        isSigned
            ? AuthorizationResponse.parse(answer, new JARMValidator(issuer, clientId, alg, keySet))
            : AuthorizationResponse.parse(answer);
    if (isSigned) refuseForAnother(answer);
    check(response.indicatesSuccess(), "the authorization succeeded");
    check(state.equals(response.getState()), "the response has the state");
    check(issuer.equals(response.getIssuer()), "the response has the issuer");
    return response.toSuccessResponse().getAuthorizationCode();
  }

  private void refuseForAnother(URI answer) throws Exception {
    String jwt = AuthorizationResponse.parseResponseParameters(answer).get("response").get(0);
    try {
      new JARMValidator(issuer, new ClientID("another"), alg, keySet).validate(jwt);
    } catch (BadJOSEException expected) {
      return;
    }
    throw new IllegalStateException("The response was accepted for another client");
  }

  private OIDCTokenResponse token(AuthorizationGrant grant) throws Exception {
    HTTPRequest http = new TokenRequest(server.getTokenEndpointURI(), assertion(), grant).toHTTPRequest();
    TokenResponse response = OIDCTokenResponseParser.parse(send(http, null));
    if (response instanceof TokenErrorResponse error)
      throw new IllegalStateException(error.getErrorObject().toJSONObject().toJSONString());
    return (OIDCTokenResponse) response.toSuccessResponse();
  }

  /** `aud` is the issuer as a text (FAPI 2.0 §5.3.2.1). */
  private ClientAuthentication assertion() throws Exception {
    JWTAuthenticationClaimsSet claims = new JWTAuthenticationClaimsSet(clientId, new Audience(issuer));
    return new PrivateKeyJWT(claims, alg, ((AsymmetricJWK) key).toPrivateKey(), key.getKeyID(), null);
  }

  private HTTPResponse query(DPoPAccessToken token) throws Exception {
    URI address = URI.create(issuer + "/query?statement=1");
    HTTPRequest http = new HTTPRequest(HTTPRequest.Method.POST, address);
    http.setEntityContentType(ContentType.TEXT_PLAIN);
    http.setBody("select name from cataloguetables limit 1");
    http.setAuthorization(token.toAuthorizationHeader());
    return send(http, token);
  }

  private String userinfo(DPoPAccessToken token) throws Exception {
    URI endpoint = server.getCustomURIParameter("userinfo_endpoint");
    HTTPResponse answer = send(new UserInfoRequest(endpoint, token).toHTTPRequest(), token);
    return UserInfoResponse.parse(answer).toSuccessResponse().getUserInfo().getSubject().getValue();
  }

  private void revoke(RefreshToken token) throws Exception {
    URI endpoint = server.getRevocationEndpointURI();
    new TokenRevocationRequest(endpoint, assertion(), token).toHTTPRequest().send().ensureStatusCode(200);
  }

  /** RFC 9701. */
  private TokenIntrospectionSuccessResponse introspect(DPoPAccessToken token) throws Exception {
    URI endpoint = server.getIntrospectionEndpointURI();
    HTTPRequest http = new TokenIntrospectionRequest(endpoint, assertion(), token).toHTTPRequest();
    http.setAccept("application/" + INTROSPECTION);
    HTTPResponse answer = http.send();
    answer.ensureStatusCode(200);
    answer.ensureEntityContentType(new ContentType("application", INTROSPECTION));
    DefaultJWTProcessor<SecurityContext> processor = new DefaultJWTProcessor<>();
    processor.setJWSTypeVerifier(new DefaultJOSEObjectTypeVerifier<>(new JOSEObjectType(INTROSPECTION)));
    processor.setJWSKeySelector(new JWSVerificationKeySelector<>(alg, JWKSourceBuilder.create(keySet).build()));
    JWTClaimsSet expected = new JWTClaimsSet.Builder().issuer(issuer.getValue()).build();
    processor.setJWTClaimsSetVerifier(
        new DefaultJWTClaimsVerifier<>(clientId.getValue(), expected, Set.of("iat", "token_introspection")));
    JWTClaimsSet claims = processor.process(answer.getBody(), null);
    return TokenIntrospectionSuccessResponse.parse(
        new JSONObject(claims.getJSONObjectClaim("token_introspection")));
  }

  /**
   * Sends a request with a proof. No nonce is remembered, so that every endpoint has to ask for one; then the same request, with the
   * same assertion and code, is sent again.
   */
  private HTTPResponse send(HTTPRequest request, DPoPAccessToken token) throws Exception {
    HTTPResponse answer = prove(request, token, null).send();
    if (!asksNonce(answer)) return answer;
    noncesDemanded++;
    return prove(request, token, answer.getDPoPNonce()).send();
  }

  private HTTPRequest prove(HTTPRequest request, DPoPAccessToken token, Nonce nonce) throws Exception {
    URI address = URIUtils.getBaseURI(request.getURI());
    request.setDPoP(proofs.createDPoPJWT(request.getMethod().name(), address, token, nonce));
    return request;
  }

  private static boolean asksNonce(HTTPResponse answer) throws Exception {
    if (answer.getStatusCode() == 401) return DPoPTokenError.USE_DPOP_NONCE.getCode().equals(errorOf(answer));
    return answer.getStatusCode() == 400
        && OAuth2Error.USE_DPOP_NONCE.equals(TokenErrorResponse.parse(answer).getErrorObject());
  }

  /** The error of a resource, in its challenge. */
  private static String errorOf(HTTPResponse answer) throws Exception {
    String challenge = answer.getWWWAuthenticate();
    return challenge == null ? null : DPoPTokenError.parse(challenge).getCode();
  }

  private DefaultDPoPProofFactory newProofs() throws Exception {
    JWK pair =
        alg.equals(JWSAlgorithm.ES256) ? new ECKeyGenerator(Curve.P_256).generate() : new RSAKeyGenerator(2048).generate();
    return new DefaultDPoPProofFactory(pair, alg);
  }

  private static void check(boolean holds, String what) {
    if (!holds) throw new IllegalStateException("It does not hold that " + what);
  }
}
