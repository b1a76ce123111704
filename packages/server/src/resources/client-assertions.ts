/** The rules about clients that sign assertions (RFC 7523) or request objects (RFC 9101): their keys, and the issuers of workloads. */
import { webAddressFault } from 'gatehouse-protocol'
import type { Fault } from '../schema/check-schema.ts'
import { readKey } from '../store/keys/foreign-keys.ts'
import type { DeclaredClient } from './client-shape.ts'

type Workload = NonNullable<DeclaredClient['federated']>[number]

export function assertionFaults(client: DeclaredClient): Fault[] {
  const { jwks, jwks_uri: uri, federated = [], token_endpoint_auth_method: method } = client
  const faults: Fault[] = []
  const fault = (path: string, text: string) => faults.push({ path, text })
  const isOwn = method === 'private_key_jwt'
  if (isOwn && client.client_secret !== undefined)
    fault('client_secret', 'a client with token_endpoint_auth_method private_key_jwt has no secret')
  if (isOwn && (jwks?.keys ?? []).length === 0 && uri === undefined && federated.length === 0)
    fault('jwks', 'private_key_jwt needs the public keys of the client in jwks or jwks_uri, or federated')
  // RFC 7591 §2: the two must not be combined.
  if (jwks !== undefined && uri !== undefined) fault('jwks_uri', 'cannot be combined with jwks')
  if (!isOwn && client.token_endpoint_auth_signing_alg !== undefined)
    fault('token_endpoint_auth_signing_alg', 'needs token_endpoint_auth_method private_key_jwt')
  for (const path of ['request_object_signing_alg', 'require_signed_request_object'] as const)
    if ((client[path] ?? false) !== false && (jwks?.keys ?? []).length === 0 && uri === undefined)
      fault(path, 'needs the public keys of the client in jwks or jwks_uri')
  if (isOwn) faults.push(...keyFaults('jwks', jwks?.keys))
  if (method === 'none' && federated.length > 0) fault('federated', 'a public client does not authenticate')
  for (const [index, workload] of federated.entries()) {
    const path = `federated[${index}]`
    faults.push(...workloadFaults(path, workload))
    const isSame = ({ issuer, subject }: Workload) => issuer === workload.issuer && subject === workload.subject
    const earlier = federated.findIndex(isSame)
    if (earlier < index) fault(path, `has the issuer and subject of federated[${earlier}]`)
  }
  return faults
}

function workloadFaults(path: string, { issuer, subject, jwks }: Workload): Fault[] {
  const address = webAddressFault(issuer)
  return [
    // With declared keys, the address of an issuer is only a name and is never requested.
    ...(jwks === undefined && address !== undefined
      ? [{ path: `${path}.issuer`, text: `"${issuer}": ${address}` }]
      : []),
    ...(subject.includes('*')
      ? [{ path: `${path}.subject`, text: 'wildcards are not supported: list each subject' }]
      : []),
    ...keyFaults(`${path}.jwks`, jwks?.keys),
  ]
}

function keyFaults(path: string, keys: readonly unknown[] = []): Fault[] {
  return keys.flatMap((key, index) => {
    const read = readKey(key)
    return 'fault' in read ? [{ path: `${path}.keys[${index}]`, text: read.fault }] : []
  })
}
