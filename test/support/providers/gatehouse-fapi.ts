/** Our own provider for the FAPI 2.0 plans: the clients of every plan on one server. */
import { createSigningKey } from '../../conformance/fapi2/jws.ts'
import { CALLBACKS, type Plan, type PlanClient, type Target } from '../../conformance/fapi2/plan.ts'
import type { Certificate } from '../certificate.ts'
import type { TestPlace } from '../engines.ts'
import { startGatehouse } from './gatehouse.ts'
import { person } from './provider.ts'

export interface FapiServerOptions {
  readonly plans: readonly Plan[]
  readonly certificate: Certificate
  /** What the OpenID document says. */
  readonly discovery: 'exact' | 'complete'
}

type ClientPair = readonly [PlanClient, PlanClient]

/** Its clock moves by `elapse` alone, so that no module depends on how fast it runs. */
export async function startFapiServer(
  place: TestPlace,
  { plans, certificate, discovery }: FapiServerOptions,
): Promise<Target> {
  const pairs = new Map(plans.map((plan, index) => [plan, buildClients(plan, index)]))
  const declaration = {
    roles: [{ name: 'trader', scopes: ['Platform/Market'] }],
    users: [{ username: person.username, password: person.password, ...person.claims, roles: ['trader'] }],
    clients: plans.flatMap((plan) => findPair(pairs, plan).map((client) => buildRegistration(plan, client))),
  }
  const { issuer, metadata, now, elapse, stop } = await startGatehouse(place, {
    // Through JSON: the declaration is a file.
    declaration: JSON.parse(JSON.stringify(declaration)),
    certificate,
    still: true,
    flags: { '--signing-algs': 'RS256,PS256', '--discovery': discovery },
  })
  return {
    name: 'gatehouse',
    issuer,
    clients: (plan) => findPair(pairs, plan),
    resource: ({ openid }) => (openid ? metadata.userinfo_endpoint : `${issuer}/platform/topics`),
    now,
    elapse,
    lacks: () => undefined,
    stop,
  }
}

const keys = [createSigningKey('PS256'), createSigningKey('ES256')] as const

function buildClients({ openid, credentials }: Plan, index: number): ClientPair {
  const scope = openid ? 'openid offline_access' : credentials ? 'Platform/Market' : 'Platform/Market offline_access'
  const [first, second] = keys
  return [
    { id: `fapi-${index}-first`, key: first, redirectUri: CALLBACKS[0], scope },
    { id: `fapi-${index}-second`, key: second, redirectUri: CALLBACKS[1], scope },
  ]
}

function findPair(pairs: ReadonlyMap<Plan, ClientPair>, plan: Plan): ClientPair {
  const pair = pairs.get(plan)
  if (pair === undefined) throw new Error(`The server has no clients for ${plan.name}`)
  return pair
}

function buildRegistration({ openid, signed, credentials }: Plan, { id, key, redirectUri, scope }: PlanClient) {
  return {
    client_id: id,
    client_name: id,
    profile: 'fapi2',
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [key.publicJwk] },
    // By the claims parameter a client gets what it could request as scopes.
    scope: openid ? `${scope} profile email` : scope,
    ...(credentials
      ? { grant_types: ['client_credentials'], response_types: [] }
      : { grant_types: ['authorization_code', 'refresh_token'], redirect_uris: [redirectUri] }),
    // The second has a logout URI.
    ...(redirectUri === CALLBACKS[1] ? { backchannel_logout_uri: 'https://rp.example.com/backchannel_logout' } : {}),
    ...(signed ? { require_signed_request_object: true } : {}),
  }
}
