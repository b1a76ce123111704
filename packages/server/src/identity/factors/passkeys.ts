/** Passkeys (WebAuthn Level 3): options for the browser, and verification of its response. */

import { randomBytes } from 'node:crypto'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { parseJson } from '../../lib/exact-json.ts'
import type { Factor, Factors } from '../../store/accounts/factors.ts'
import type { User } from '../../store/accounts/user.ts'
import type { Users } from '../../store/accounts/users.ts'

/** The stored part of a passkey; none of it is secret. */
interface StoredPasskey {
  readonly id: string
  readonly publicKey: string
}

export interface PasskeyEnv {
  readonly issuer: { readonly name: string }
  readonly users: Pick<Users, 'findById'>
  readonly factors: Pick<Factors, 'listOfUser' | 'advance' | 'touch'>
}

const TIMEOUT_MS = 120_000

/** Without known passkeys, any passkey of this site is accepted, but it must verify the user. */
export async function passkeyChallenge(
  issuer: string,
  known: readonly Factor[] = [],
): Promise<{ options: string; challenge: string }> {
  const challenge = newChallenge()
  const options = {
    challenge,
    rpId: new URL(issuer).hostname,
    timeout: TIMEOUT_MS,
    userVerification: known.length === 0 ? 'required' : 'preferred',
    allowCredentials: known.map((factor) => ({ type: 'public-key', id: readStored(factor).id })),
  }
  return { options: JSON.stringify(options), challenge }
}

export function creationOptions(
  issuer: string,
  brand: string,
  user: User,
  displayName: string,
  known: readonly Factor[],
): { options: string; challenge: string } {
  const challenge = newChallenge()
  const options = {
    challenge,
    rp: { id: new URL(issuer).hostname, name: brand },
    user: { id: Buffer.from(user.id).toString('base64url'), name: user.username, displayName },
    pubKeyCredParams: [-8, -7, -257].map((alg) => ({ type: 'public-key', alg })),
    timeout: TIMEOUT_MS,
    attestation: 'none',
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
    excludeCredentials: known.map((factor) => ({ type: 'public-key', id: readStored(factor).id })),
  }
  return { options: JSON.stringify(options), challenge }
}

/** What to store for the new passkey; undefined when it is not valid. */
export async function checkNewPasskey(
  { credential, challenge }: { credential: string | undefined; challenge: string | undefined },
  issuer: string,
): Promise<{ secret: string; counter: number } | undefined> {
  const response = readJson(credential)
  if (response === undefined || challenge === undefined) return undefined
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
  try {
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      // The library validates every member.
      response: response as unknown as RegistrationResponseJSON,
      expectedChallenge: challenge,
      ...expected(issuer),
      requireUserVerification: false,
    })
    if (!verified) return undefined
    const { id, publicKey, counter } = registrationInfo.credential
    const stored: StoredPasskey = { id, publicKey: Buffer.from(publicKey).toString('base64url') }
    return { secret: JSON.stringify(stored), counter }
  } catch {
    return undefined
  }
}

export interface PasskeyAnswer {
  readonly credential: string | undefined
  readonly challenge: string | undefined
  /** Undefined when the passkey identifies the user; it must then verify the user too. */
  readonly userId: string | undefined
}

/** The user who owns the passkey; undefined when it is not valid, for any reason. */
export async function checkPasskey(answer: PasskeyAnswer, env: PasskeyEnv): Promise<User | undefined> {
  const response = readJson(answer.credential)
  if (response === undefined || answer.challenge === undefined) return undefined
  const userId = answer.userId ?? readUserHandle(response)
  const user = userId === undefined ? undefined : await env.users.findById(userId)
  if (user === undefined || user.disabled) return undefined
  const factors = (await env.factors.listOfUser(user.id)).filter(({ kind }) => kind === 'passkey')
  const factor = factors.find((candidate) => readStored(candidate).id === response.id)
  if (factor === undefined) return undefined
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
  try {
    const { publicKey, id } = readStored(factor)
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: response as unknown as AuthenticationResponseJSON,
      expectedChallenge: answer.challenge,
      ...expected(env.issuer.name),
      credential: { id, publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')), counter: factor.counter },
      requireUserVerification: answer.userId === undefined,
    })
    if (!verified) return undefined
    // Many passkeys have no signature counter and report 0; a counter must increase.
    if (authenticationInfo.newCounter === 0) await env.factors.touch(factor.id)
    else if (!(await env.factors.advance(factor.id, authenticationInfo.newCounter))) return undefined
    return user
  } catch {
    return undefined
  }
}

function expected(issuer: string): { expectedOrigin: string; expectedRPID: string } {
  const { origin, hostname } = new URL(issuer)
  return { expectedOrigin: origin, expectedRPID: hostname }
}

function newChallenge(): string {
  return randomBytes(32).toString('base64url')
}

function readStored({ secret }: Factor): StoredPasskey {
  return JSON.parse(secret)
}

function readUserHandle(response: Readonly<Record<string, unknown>>): string | undefined {
  const inner = response.response
  if (typeof inner !== 'object' || inner === null || !('userHandle' in inner)) return undefined
  if (typeof inner.userHandle !== 'string') return undefined
  const userId = Buffer.from(inner.userHandle, 'base64url').toString()
  return /^[\x21-\x7e]{1,100}$/.test(userId) ? userId : undefined
}

function readJson(text: string | undefined): Readonly<Record<string, unknown>> | undefined {
  if (text === undefined) return undefined
  try {
    const value = parseJson(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}
