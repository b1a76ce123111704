/** Rows about the device flow (C-70 to C-75). */
import assert from 'node:assert/strict'
import { clientFixtures } from '../support/providers/provider.ts'
import { approveDevice, startDevice } from './device-steps.ts'
import { post, type RowTest } from './steps.ts'
import { assertTokenError, readTokens, requestToken, type Trial } from './trial.ts'

const { client, device, native } = clientFixtures('https://127.0.0.1:1/')
const GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

export const deviceRows: readonly RowTest[] = [
  {
    id: 'C-70',
    name: 'the response has all its members, and is not cached',
    async run(trial) {
      const endpoint = trial.provider.metadata.device_authorization_endpoint
      const response = await post(endpoint, { scope: 'openid' }, device)
      assert.equal(response.status, 200)
      assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
      assert.match(response.headers.get('cache-control') ?? '', /no-store/)
      const answer = (await response.json()) as Record<string, unknown>
      for (const name of ['device_code', 'user_code', 'verification_uri', 'expires_in'])
        assert.ok(answer[name] !== undefined, name)
      assert.ok(answer.interval === undefined || answer.interval === 5)
      const complete = new URL(String(answer.verification_uri_complete))
      assert.equal(complete.searchParams.get('user_code'), answer.user_code)
    },
  },
  {
    id: 'C-70',
    name: 'an unknown client is invalid_client, one without the grant unauthorized_client, a bad scope invalid_scope',
    ours: true,
    async run(trial) {
      const endpoint = trial.provider.metadata.device_authorization_endpoint
      const unknown = { ...device, client_id: 'nobody' }
      await assertTokenError(await post(endpoint, { scope: 'openid' }, unknown), 'invalid_client', 401)
      await assertTokenError(await post(endpoint, { scope: 'openid' }, native), 'unauthorized_client')
      await assertTokenError(await post(endpoint, { scope: 'openid Platform/Admin' }, device), 'invalid_scope')
    },
  },
  {
    id: 'C-71',
    name: 'polling before approval is authorization_pending',
    async run(trial) {
      const { device_code: code } = await startDevice(trial, device, 'openid')
      await assertTokenError(await poll(trial, code), 'authorization_pending')
    },
  },
  {
    id: 'C-72',
    name: 'polling faster than the interval is slow_down, and permanently adds five seconds to the interval',
    ours: true,
    async run(trial) {
      const { device_code: code } = await startDevice(trial, device, 'openid')
      await assertTokenError(await poll(trial, code), 'authorization_pending')
      await trial.provider.elapse(1000)
      await assertTokenError(await poll(trial, code), 'slow_down')
      await trial.provider.elapse(6000)
      await assertTokenError(await poll(trial, code), 'slow_down')
      await trial.provider.elapse(16_000)
      await assertTokenError(await poll(trial, code), 'authorization_pending')
    },
  },
  {
    id: 'C-73',
    name: 'a denied code is access_denied, an expired one expired_token, and both stay so',
    ours: true,
    async run(trial) {
      const denied = await startDevice(trial, device, 'openid')
      await approveDevice(trial, denied.user_code, 'refuse')
      for (let times = 0; times < 2; times++) {
        await trial.provider.elapse(20_000)
        await assertTokenError(await poll(trial, denied.device_code), 'access_denied')
      }
      const expired = await startDevice(trial, device, 'openid')
      await trial.provider.elapse(expired.expires_in * 1000 + 1000)
      for (let times = 0; times < 2; times++) {
        await assertTokenError(await poll(trial, expired.device_code), 'expired_token')
        await trial.provider.elapse(20_000)
      }
    },
  },
  {
    id: 'C-74',
    name: 'an approved code gives tokens once, and only to its own client',
    async run(trial) {
      const { device_code: code, user_code: userCode } = await startDevice(trial, device, 'openid')
      await approveDevice(trial, userCode)
      await trial.provider.elapse(6000)
      const stranger = await requestToken(trial.provider, client, { grant_type: GRANT, device_code: code })
      assert.equal(stranger.status, 400)
      await trial.provider.elapse(16_000)
      await readTokens(await poll(trial, code))
      await trial.provider.elapse(16_000)
      await assertTokenError(await poll(trial, code), 'invalid_grant')
    },
  },
  {
    id: 'C-75',
    name: 'user codes are strong and easy to type; device codes have at least 128 bits',
    ours: true,
    async run(trial) {
      const started = await startDevice(trial, device, 'openid')
      const letters = started.user_code.replace(/[^A-Za-z0-9]/g, '')
      assert.match(letters, /^[BCDFGHJKLMNPQRSTVWXZ]{8,}$/)
      assert.ok(started.device_code.length >= 22)
      await approveDevice(trial, ` ${letters.toLowerCase().replace(/(..)/g, '$1 ')}- `)
      await trial.provider.elapse(6000)
      await readTokens(await poll(trial, started.device_code))
    },
  },
]

function poll(trial: Trial, deviceCode: string): Promise<Response> {
  return requestToken(trial.provider, device, { grant_type: GRANT, device_code: deviceCode })
}
