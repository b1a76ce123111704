/** Steps of the device flow (RFC 8628). */
import assert from 'node:assert/strict'
import { type ClientFixture, person } from '../support/providers/provider.ts'
import type { Page } from '../support/user-agent.ts'
import { reply, signIn, signInForm } from '../support/visitor.ts'
import { post } from './steps.ts'
import type { Trial } from './trial.ts'

export interface DeviceAnswer {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri: string
  readonly verification_uri_complete?: string
  readonly expires_in: number
  readonly interval?: number
}

export async function startDevice(trial: Trial, client: ClientFixture, scope: string): Promise<DeviceAnswer> {
  const response = await post(trial.provider.metadata.device_authorization_endpoint, { scope }, client)
  assert.equal(response.status, 200)
  return (await response.json()) as DeviceAnswer
}

/** Enters the code, signs in if asked, and decides; returns the final page. */
export async function approveDevice(
  trial: Trial,
  userCode: string,
  decision: 'agree' | 'refuse' = 'agree',
): Promise<Page> {
  let at = await trial.agent.get(`${trial.provider.issuer}/device`)
  for (let step = 0; step < 6 && at.kind === 'page'; step++) {
    const form = at.forms.find(({ fields }) => fields.some(({ name, type }) => name === 'user_code' && type === 'text'))
    if (form !== undefined) at = await trial.agent.submit(form, { user_code: userCode })
    else if (signInForm(at) !== undefined) at = await signIn(trial.agent, at, person)
    else if (at.forms.length > 0) at = await reply(trial.agent, at, decision)
    else return at
  }
  return assert.fail('the device flow shows too many pages')
}
