/** A client that calls an endpoint of another service with its secret, as at introspection, or with an access token; both with a scope. */
import type { Authenticate } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import { limitedCaller } from '../../http/limits/rate-limits.ts'
import { authenticateRequest, insufficientScope, requireScope } from '../../http/request/authentication.ts'
import { readParameters } from '../../http/request/body.ts'
import type { CheckProof } from '../../http/request/proof.ts'
import { authenticateClient, type ClientAuthEnv } from './client-request.ts'

export interface ClientCallerEnv extends ClientAuthEnv {
  readonly authenticate: Authenticate
  readonly checkProof: CheckProof
}

export function clientCaller(env: ClientCallerEnv): (context: Context, scope: string) => Promise<string> {
  const noForm = readParameters('')
  return async (context, scope) => {
    if (!/^basic /i.test(context.headers.authorization ?? '')) {
      const principal = await authenticateRequest(context, env)
      context.principal = principal
      requireScope(scope)(principal)
      env.rateLimits.countCaller('query', context.address, limitedCaller(principal))
      return principal.clientId
    }
    const client = await authenticateClient(context, noForm, env)
    if (client.disabled || client.public || !client.scopes.has(scope))
      throw insufficientScope(`This needs ${scope}`, [scope])
    return client.id
  }
}
