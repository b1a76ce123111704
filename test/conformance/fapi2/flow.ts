/** The flow of a FAPI 2.0 plan that must succeed, step by step, so that a module can change or stop at any of them. */
import { checkGranted, checkPushed, checkServed, checkTokens, readResponse, type Tokens } from './checks.ts'
import type { Reply } from './http.ts'
import type { Bench, OpenChanges, Party, PartyParameters, Proof, PushChanges, TokenChanges } from './party.ts'
import type { Plan } from './plan.ts'

/** A module of the suite: its id, the plans that it belongs to and its test. */
export interface FapiModule {
  readonly id: string
  /** All plans with an authorization request, unless it says otherwise. */
  readonly isIn?: (plan: Plan) => boolean
  readonly run: (bench: Bench) => Promise<unknown>
}

export const inAll = () => true
export const inOpenid = ({ openid }: Plan) => openid
export const inSigned = ({ signed }: Plan) => signed

export interface FlowChanges {
  readonly request?: PartyParameters
  readonly push?: PushChanges
  readonly open?: OpenChanges
  readonly token?: TokenChanges
  /** Of the resource request. */
  readonly proof?: Proof
}

export interface Granted {
  readonly request: PartyParameters
  readonly code: string
}

export async function grantCode(bench: Bench, party: Party, changes: FlowChanges = {}): Promise<Granted> {
  const request = party.request(changes.request)
  const { requestUri } = checkPushed(await party.push(request, changes.push))
  const response = await readResponse(bench, party, await party.open(request, requestUri, changes.open))
  return { request, code: checkGranted(bench, request, response) }
}

/** The token request of the plan, whatever its answer. */
export async function askTokens(bench: Bench, party: Party, changes: FlowChanges = {}): Promise<Reply> {
  if (bench.plan.credentials) return party.token(credentialsForm(party), changes.token)
  const { request, code } = await grantCode(bench, party, changes)
  return party.redeem(request, code, changes.token)
}

export async function grantTokens(bench: Bench, party: Party, changes: FlowChanges = {}): Promise<Granted & Tokens> {
  if (bench.plan.credentials) {
    const reply = await party.token(credentialsForm(party), changes.token)
    return { request: {}, code: '', ...(await checkTokens(bench, party, reply)) }
  }
  const granted = await grantCode(bench, party, changes)
  const reply = await party.redeem(granted.request, granted.code, changes.token)
  return { ...granted, ...(await checkTokens(bench, party, reply, granted.request)) }
}

/** The whole flow, to the resource. */
export async function succeed(
  bench: Bench,
  party: Party = bench.party,
  changes: FlowChanges = {},
): Promise<Granted & Tokens> {
  const granted = await grantTokens(bench, party, changes)
  checkServed(await party.resource(granted.accessToken, changes.proof))
  return granted
}

function credentialsForm({ client }: Party): Record<string, string> {
  return { grant_type: 'client_credentials', scope: client.scope }
}
