/** The client credentials grant (RFC 6749 §4.4): a client with a secret speaks for itself. */
import { isRight } from '../../protocol/scopes.ts'
import { refuse } from '../oauth-error.ts'
import { allowedToClient, inOrder, parseScope } from '../scope.ts'
import type { GrantRequest, Redeemed } from './env.ts'

export async function redeemClientCredentials({ form, client }: GrantRequest): Promise<Redeemed> {
  if (client.public) throw refuse('unauthorized_client', 'A client without a secret cannot speak for itself')
  const requested = parseScope(form.get('scope'))
  // C-65: there is nobody whose claims could be told, and nothing to keep for later.
  if (requested?.some((name) => !isRight(name)) === true) {
    throw refuse('invalid_scope', 'This scope is about a user, and there is none')
  }
  return { scopes: inOrder(allowedToClient(requested, client).filter(isRight)) }
}
