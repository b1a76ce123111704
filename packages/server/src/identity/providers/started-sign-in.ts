/** A sign-in between the redirect to a provider and its answer: kept sealed under its `state`, which works once. */
import { digestSecret, seal, unseal } from '../../store/keys/opaque.ts'
import type { StateOwner } from '../../store/providers/provider-sign-ins.ts'
import type { ProvidersEnv } from './env.ts'
import { providerFault } from './faults.ts'

export type Purpose =
  | { readonly kind: 'sign-in' }
  /** For the account page of this session. */
  | { readonly kind: 'link'; readonly session: string }
  /** To take up a set-up link. */
  | { readonly kind: 'invitation'; readonly token: string }
  /** For an administrator: shows what a sign-in would mean. */
  | { readonly kind: 'trial'; readonly session: string }

export interface StartedSignIn {
  /** The handle of the interaction that it belongs to. */
  readonly flow: string
  readonly purpose: Purpose
  /** Seconds, if the provider was asked for it. */
  readonly maxAge?: number | undefined
}

export async function keepStarted(
  started: StartedSignIn,
  state: string,
  owner: StateOwner,
  env: ProvidersEnv,
): Promise<void> {
  const sealed = seal(Buffer.from(JSON.stringify(started)), env.providerKey, sealPurpose(state))
  await env.providerSignIns.begin(state, owner, sealed)
}

/** Refuses a state that was used before, is too old, or belongs to another browser or provider. */
export async function spendStarted(
  state: string | undefined,
  owner: StateOwner,
  env: ProvidersEnv,
): Promise<StartedSignIn> {
  const sealed = state === undefined ? undefined : await env.providerSignIns.spend(state, owner)
  if (state === undefined || sealed === undefined)
    throw providerFault('provider.state', 'The state is unknown, spent, too old, or of another browser or provider')
  const started: StartedSignIn = JSON.parse(unseal(sealed, env.providerKey, sealPurpose(state)).toString())
  return started
}

function sealPurpose(state: string): string {
  return `sign-in ${digestSecret(state)}`
}
