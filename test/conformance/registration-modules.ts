/** Modules of the dynamic registration plans that also apply to statically registered clients. */
import assert from 'node:assert/strict'
import { CALLBACK, clientFixtures } from '../support/providers/provider.ts'
import type { LogoutModule } from './logout-modules.ts'
import { assertErrorPage } from './trial.ts'

const { query, twoAddresses } = clientFixtures('https://127.0.0.1:1/')

export const registrationModules: readonly LogoutModule[] = [
  {
    id: 'oidcc-redirect-uri-query-OK',
    async run(trial) {
      const { left } = await trial.withClient(query).succeed()
      assert.equal(left.url.searchParams.get('foo'), 'bar')
    },
  },
  {
    id: 'oidcc-redirect-uri-query-mismatch',
    async run(trial) {
      assertErrorPage(await trial.withClient(query).authorize({ redirect_uri: `${CALLBACK}?bar=foo` }))
    },
  },
  {
    id: 'oidcc-redirect-uri-query-added',
    async run(trial) {
      assertErrorPage(await trial.authorize({ redirect_uri: `${CALLBACK}?foo=bar` }))
    },
  },
  {
    id: 'oidcc-ensure-redirect-uri-in-authorization-request',
    async run(trial) {
      assertErrorPage(await trial.withClient(twoAddresses).authorize({ redirect_uri: undefined }))
    },
  },
  {
    id: 'oidcc-idtoken-rs256',
    async run(trial) {
      const { idTokens } = await trial.succeed()
      assert.equal(idTokens[0]?.header.alg, 'RS256')
      assert.equal(typeof idTokens[0]?.header.kid, 'string')
    },
  },
]
