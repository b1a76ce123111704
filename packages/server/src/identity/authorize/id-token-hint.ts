/** `id_token_hint` (OpenID Connect Core §3.1.2.1): an ID token that this server issued; its expiry does not matter. */
import type { Issuer } from '../tokens/issuer.ts'
import type { Signer } from '../tokens/signer.ts'

export interface HintEnv {
  readonly signer: Pick<Signer, 'verify'>
  readonly issuer: Pick<Issuer, 'name'>
}

/** No other kind of token passes for one (C-103). */
export function hintReader({ signer, issuer }: HintEnv) {
  return async (idToken: string) => {
    const claims = (await signer.verify('JWT', idToken))?.claims
    if (claims === undefined || claims.iss !== issuer.name || typeof claims.sub !== 'string') return undefined
    return {
      subject: claims.sub,
      clientId: typeof claims.aud === 'string' ? claims.aud : undefined,
      sessionId: typeof claims.sid === 'string' ? claims.sid : undefined,
    }
  }
}
