/** The client credentials grant (RFC 6749 §4.4): a confidential client acts for itself. */
import { isRight } from 'gatehouse-protocol'
import { chooseTarget, isForAgents, scopesOfTarget } from '../apis/targets.ts'
import { refuse } from '../oauth-error.ts'
import { parseScope, readAllowedScopes, scopeNames, sortScopes } from '../tokens/scope.ts'
import type { GrantEnv, GrantRequest, Redeemed } from './grant.ts'

export async function redeemClientCredentials(
  { form, client, audience: named }: Pick<GrantRequest, 'form' | 'client' | 'audience'>,
  { apis }: Pick<GrantEnv, 'apis'>,
): Promise<Redeemed> {
  const known = apis.known()
  if (client.public) throw refuse('unauthorized_client', 'A public client cannot use this grant')
  const scope = form.get('scope')
  const audiences = named === undefined ? undefined : [named]
  // C-65: there is no user, so user claims and offline access do not apply.
  const ofUsers = parseScope(scope, known)?.filter((name) => !isRight(name)) ?? []
  if (ofUsers.length > 0 && !isForAgents(audiences, known))
    throw refuse('invalid_scope', `${scopeNames(ofUsers)} not available with client_credentials: there is no user`)
  const granted = readAllowedScopes(scope, client, audiences, known).filter(isRight)
  const target = chooseTarget({ named, audiences: undefined, granted }, known)
  return { target, scopes: sortScopes(scopesOfTarget(granted, target, known)) }
}
