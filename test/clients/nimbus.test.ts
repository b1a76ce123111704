/** Nimbus' OAuth 2.0 SDK for Java (com.nimbusds:oauth2-oidc-sdk) as a client of `profile: fapi2`. Needs Maven and a JDK. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { root } from '../support/clone.ts'
import { compileWithMaven, lacksMaven } from '../support/maven.ts'
import { ALGS, openFapi2 } from './fapi2.ts'
import type { OpenGatehouse } from './gatehouse.ts'
import { type ClientProgram, startProgram } from './program.ts'

const FOLDER = join(root, 'test/clients/nimbus')

describe('Nimbus', { skip: lacksMaven() }, () => {
  let program: ClientProgram
  before(async () => {
    program = startProgram('java', ['-cp', await compileWithMaven(FOLDER), 'Fapi2'], FOLDER)
  })
  after(() => program.stop())

  for (const [dpopNonce, noncesDemanded] of [
    ['public', 0],
    // PAR, code, query, userinfo, refresh and the second query: each asks for one.
    ['all', 6],
  ] as const)
    describe(`with dpop_nonce ${dpopNonce}`, () => {
      let gatehouse: OpenGatehouse
      before(async () => {
        gatehouse = await openFapi2(dpopNonce)
      })
      after(() => gatehouse.close())

      for (const alg of ALGS)
        for (const isSigned of [false, true])
          test(`${alg}, ${isSigned ? 'JAR and JARM' : 'plain messages'}: PAR, code flow, query, userinfo, refresh by another key, introspection as a JWT`, async () => {
            const result = await program.run(gatehouse, alg, isSigned)
            assert.ok(result.subject.length > 0)
            assert.equal(result.noncesDemanded, noncesDemanded)
            assert.equal(result.refused, 'invalid_dpop_proof')
          })
    })
})
