/** The client credentials grant (RFC 6749 §4.4): a confidential client acts for itself. */
import { isRight } from 'gatehouse-protocol'
import { refuse } from '../oauth-error.ts'
import { parseScope, requireAllowedScopes, sortScopes } from '../tokens/scope.ts'
import type { GrantRequest, Redeemed } from './grant.ts'

export async function redeemClientCredentials({ form, client }: GrantRequest): Promise<Redeemed> {
  if (client.public) throw refuse('unauthorized_client', 'A public client cannot use this grant')
  const requested = parseScope(form.get('scope'))
  // C-65: there is no user, so user claims and offline access do not apply.
  if (requested?.some((name) => !isRight(name)) === true) {
    throw refuse('invalid_scope', 'This scope needs a user')
  }
  return { scopes: sortScopes(requireAllowedScopes(requested, client).filter(isRight)) }
}
