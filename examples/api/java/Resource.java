/** The check of access tokens in an API of your own: once with Nimbus JOSE + JWT, once with Spring Security. Reads tokens from stdin. */
import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.source.JWKSourceBuilder;
import com.nimbusds.jose.proc.DefaultJOSEObjectTypeVerifier;
import com.nimbusds.jose.proc.JWSVerificationKeySelector;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.proc.DefaultJWTClaimsVerifier;
import com.nimbusds.jwt.proc.DefaultJWTProcessor;
import java.net.URI;
import java.util.List;
import java.util.Scanner;
import java.util.Set;
import org.springframework.security.oauth2.core.DelegatingOAuth2TokenValidator;
import org.springframework.security.oauth2.jwt.JwtClaimValidator;
import org.springframework.security.oauth2.jwt.JwtDecoder;
import org.springframework.security.oauth2.jwt.JwtIssuerValidator;
import org.springframework.security.oauth2.jwt.JwtTimestampValidator;
import org.springframework.security.oauth2.jwt.JwtTypeValidator;
import org.springframework.security.oauth2.jwt.NimbusJwtDecoder;

public class Resource {
  public static void main(String[] arguments) throws Exception {
    String issuer = System.getenv().getOrDefault("GATEHOUSE_SERVER", "http://localhost:5080");
    String resource = System.getenv().getOrDefault("RESOURCE", "http://localhost:5095");
    String keys = issuer + "/.well-known/openid-configuration/jwks";
    var nimbus = nimbus(keys, issuer, resource);
    var spring = spring(keys, issuer, resource);
    try (var lines = new Scanner(System.in)) {
      while (lines.hasNextLine()) {
        String token = lines.nextLine();
        System.out.println("nimbus " + outcome(() -> nimbus.process(token, null).getSubject()));
        System.out.println("spring " + outcome(() -> spring.decode(token).getSubject()));
      }
    }
  }

  static DefaultJWTProcessor<SecurityContext> nimbus(String keys, String issuer, String resource) throws Exception {
    var processor = new DefaultJWTProcessor<SecurityContext>();
    processor.setJWSTypeVerifier(new DefaultJOSEObjectTypeVerifier<>(new JOSEObjectType("at+jwt")));
    var source = JWKSourceBuilder.create(URI.create(keys).toURL()).build();
    processor.setJWSKeySelector(new JWSVerificationKeySelector<>(JWSAlgorithm.RS256, source));
    var exact = new JWTClaimsSet.Builder().issuer(issuer).build();
    processor.setJWTClaimsSetVerifier(
        new DefaultJWTClaimsVerifier<>(resource, exact, Set.of("sub", "exp", "client_id", "scope")));
    return processor;
  }

  static JwtDecoder spring(String keys, String issuer, String resource) {
    NimbusJwtDecoder decoder = NimbusJwtDecoder.withJwkSetUri(keys).validateType(false).build();
    decoder.setJwtValidator(
        new DelegatingOAuth2TokenValidator<>(
            new JwtTypeValidator("at+jwt"),
            new JwtTimestampValidator(),
            new JwtIssuerValidator(issuer),
            new JwtClaimValidator<List<String>>("aud", aud -> aud != null && aud.contains(resource))));
    return decoder;
  }

  interface Check {
    String run() throws Exception;
  }

  static String outcome(Check check) {
    try {
      return "takes it: " + check.run();
    } catch (Exception error) {
      return "refuses it: " + error.getMessage();
    }
  }
}
