/** The DPoP proof of a request to an OAuth endpoint (RFC 9449 §5, §10.1), which comes before the client is authenticated. */
import { readProof } from '../../http/request/authentication.ts'
import type { FormParameters } from '../../http/request/body.ts'
import { type ClientAuthEnv, type ClientRequest, readCredentials } from '../clients/client-request.ts'
import type { Dpop, GoodProof } from '../dpop/dpop.ts'

export interface ProofEnv extends Pick<ClientAuthEnv, 'clients'> {
  readonly dpop: () => Promise<Dpop>
}

/** Undefined without a proof. It is not used up yet: a request that is answered with a nonce is repeated with the same assertion. */
export async function checkProof(
  form: FormParameters,
  caller: ClientRequest,
  env: ProofEnv,
): Promise<GoodProof | undefined> {
  const given = readProof(caller)
  if (given === undefined) return undefined
  const { method, path, address, id: requestId } = caller
  const { clientId, method: authMethod } = readCredentials(caller.headers.authorization, form)
  const known = await env.clients.find(clientId)
  const dpop = await env.dpop()
  const request = { proof: given, method, path, clientId: known?.id, address, requestId }
  const proof = await dpop.checkAtEndpoint({ ...request, isPublic: authMethod === 'none' })
  if (proof.nonce !== undefined) caller.setHeader('dpop-nonce', proof.nonce)
  return proof
}
