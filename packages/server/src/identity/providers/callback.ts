/** `/external/{id}/callback`: the answer of a provider becomes a session, a linked identity, or a page that says why not. */
import type { FormParameters } from '../../http/request/body.ts'
import { seal } from '../../store/keys/opaque.ts'
import type { StoredProvider } from '../../store/providers/providers.ts'
import { type BrowserContext, isSignedIn } from '../browser/browser-context.ts'
import { claimFlow, type ExternalSignIn, type FlowInteraction, noteProgress } from '../browser/flow.ts'
import { proceed } from '../browser/proceed.ts'
import { passFirstFactor } from '../browser/sign-in/sign-in.ts'
import { FEDERATED } from '../tokens/claims.ts'
import { checkAllowed, neededClaims } from './claims.ts'
import type { Proof } from './connector.ts'
import { openConnector } from './connectors.ts'
import type { ProvidersEnv } from './env.ts'
import { answeringFaults } from './error-page.ts'
import { providerFault } from './faults.ts'
import { findPerson, identityLabel } from './person.ts'
import { settle } from './settle.ts'
import { LOGOUT_SEAL } from './sign-out.ts'
import { type StartedSignIn, spendStarted } from './started-sign-in.ts'
import { showTrial } from './trial.ts'

export async function takeAnswer(context: BrowserContext, answer: FormParameters, env: ProvidersEnv): Promise<void> {
  const id = context.http.param('id')
  const provider = env.providers.findAny(id)
  if (provider === undefined) throw providerFault('provider.state', 'The provider has been removed')
  let flow: FlowInteraction | undefined
  return answeringFaults(context, provider, undefined, env, async () => {
    const state = answer.get('state')
    const started = await spendStarted(state, { provider: id, browser: context.browser() }, env)
    flow = await claimFlow(started.flow, context, env.flows)
    const current = flow
    await answeringFaults(context, provider, current.handle, env, () =>
      takeProof(context, current, started, () => proveTimed(answer, state ?? '', started, provider, env), env),
    )
  })
}

async function proveTimed(
  answer: FormParameters,
  state: string,
  { maxAge }: StartedSignIn,
  provider: StoredProvider,
  env: ProvidersEnv,
): Promise<Proof> {
  const began = performance.now()
  try {
    const proven = await openConnector(provider, env).prove(answer, { state, maxAge, claims: neededClaims(provider) })
    return { provider, ...proven }
  } finally {
    const seconds = (performance.now() - began) / 1000
    env.metrics.observe('gatehouse_provider_signin_seconds', { provider: provider.id }, seconds)
  }
}

async function takeProof(
  context: BrowserContext,
  flow: FlowInteraction,
  { purpose }: StartedSignIn,
  proveNow: () => Promise<Proof>,
  env: ProvidersEnv,
): Promise<void> {
  // Disabled while the person was there. Only a trial works without it.
  if (purpose.kind !== 'trial' && env.providers.find(context.http.param('id')) === undefined)
    throw providerFault('provider.state', 'The provider has been disabled')
  const proof = await proveNow()
  switch (purpose.kind) {
    case 'trial':
      return showTrial(context, proof, purpose.session, env)
    case 'link':
      checkAllowed(proof)
      return offerLink(context, flow, proof, purpose.session, env)
    case 'sign-in':
      checkAllowed(proof)
      return signIn(context, flow, proof, undefined, env)
    case 'invitation':
      checkAllowed(proof)
      return signIn(context, flow, proof, purpose.token, env)
  }
}

async function signIn(
  context: BrowserContext,
  flow: FlowInteraction,
  proof: Proof,
  invitation: string | undefined,
  env: ProvidersEnv,
): Promise<void> {
  const { provider, isMultiFactor } = proof
  const person = await findPerson(proof, invitation, env)
  if (person.kind === 'unknown') {
    // The page offers a local sign-in; its user is then asked whether to link the identity.
    await noteProgress(flow, { identity: pendingLink(proof, env) }, env.flows)
    throw providerFault('identity.not_linked', 'The identity is not linked, and the definition does not create users')
  }
  const user = await settle(context, proof, person, env)
  env.metrics.count('gatehouse_provider_signins_total', { provider: provider.id, outcome: 'good' })
  const amr = isMultiFactor ? [FEDERATED, 'mfa'] : [FEDERATED]
  return passFirstFactor(context, flow, user, amr, env, externalSignIn(proof, env))
}

function externalSignIn(proof: Proof, env: ProvidersEnv): ExternalSignIn {
  const { provider, issuer, subject, sid, authTime, signOut } = proof
  const logout =
    provider.logout && signOut !== undefined ? seal(Buffer.from(signOut), env.providerKey, LOGOUT_SEAL) : undefined
  const boundedUntil = provider.lifetime === undefined ? undefined : env.clock() + provider.lifetime
  return { provider: provider.id, issuer, subject, sid, logout, authTime, boundedUntil }
}

function pendingLink(proof: Proof, { clock }: ProvidersEnv, session?: string) {
  const { provider, issuer, subject } = proof
  const pending = { provider: provider.id, issuer, subject, label: identityLabel(proof), at: clock() }
  return session === undefined ? pending : { ...pending, session }
}

/** From the account page: the same session goes on to the page that asks for confirmation. */
async function offerLink(
  context: BrowserContext,
  flow: FlowInteraction,
  proof: Proof,
  session: string,
  env: ProvidersEnv,
): Promise<void> {
  if (!isSignedIn(context) || context.session.id !== session)
    throw providerFault('provider.state', 'The session that wanted to link has ended')
  const known = await env.identities.find(proof.issuer, proof.subject)
  if (known !== undefined && known.userId !== context.user.id)
    throw providerFault('identity.linked_elsewhere', 'The identity is linked to another user')
  if (known !== undefined) return proceed(context, flow, env)
  const noted = await noteProgress(flow, { identity: pendingLink(proof, env, session) }, env.flows)
  return proceed(context, noted, env)
}
