/** Signing keys over months: published before use, kept after it, readable only by the owner. */
import assert from 'node:assert/strict'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { checkJwt } from '../support/id-token.ts'
import { type Gatehouse, ownClients, planDeclaration, startGatehouse } from '../support/providers/gatehouse.ts'
import { readTokens, requestToken } from './trial.ts'

const DAY = 86_400_000

describe('signing keys', () => {
  let place: TestPlace
  let leave: () => Promise<void>
  before(async () => {
    ;({ place, leave } = await openPlace('sqlite'))
  })
  after(() => leave())

  test('oidcc-server-rotate-keys, C-106, B-71: a key is published before its first use, and until its last token has expired', async () => {
    const first = await visit(0, async (gatehouse) => ({
      kids: await fetchKids(gatehouse),
      signedBy: await kidOfToken(gatehouse),
    }))
    assert.equal(first.signedBy, first.kids[0])
    const seen = new Map<string, 'published' | 'used' | 'gone'>()
    for (let days = 86; days <= 96; days += 1) {
      await visit(days * DAY, async (gatehouse) => {
        const kids = await fetchKids(gatehouse)
        const signedBy = await kidOfToken(gatehouse)
        assert.ok(kids.includes(signedBy), `day ${days}: signed by a key that is not published`)
        for (const kid of kids)
          if (!seen.has(kid)) seen.set(kid, signedBy === kid && kid !== first.signedBy ? 'used' : 'published')
        assert.notEqual(seen.get(signedBy), 'used', `day ${days}: a key was used as soon as it was published`)
      })
    }
    assert.ok(seen.size >= 2, 'no new key in 96 days')
  })

  test('C-106: only the owner can read the files that protect the keys', () => {
    for (const name of readdirSync(place.dataFolder)) {
      const { mode } = statSync(join(place.dataFolder, name))
      if (/key|identity/.test(name)) assert.equal(mode & 0o007, 0, `${name} is readable by everybody`)
    }
  })

  async function visit<Result>(ahead: number, look: (gatehouse: Gatehouse) => Promise<Result>): Promise<Result> {
    const gatehouse = await startGatehouse(place, { declaration: planDeclaration('https://127.0.0.1:1/'), ahead })
    try {
      return await look(gatehouse)
    } finally {
      await gatehouse.stop()
    }
  }
})

async function fetchKids({ metadata }: Gatehouse): Promise<string[]> {
  const { keys } = (await (await fetch(metadata.jwks_uri)).json()) as { keys: { kid: string; n: string }[] }
  assert.equal(new Set(keys.map(({ n }) => n)).size, keys.length, 'two kids have the same modulus')
  return keys.map(({ kid }) => kid)
}

async function kidOfToken(gatehouse: Gatehouse): Promise<string> {
  const granted = await requestToken(gatehouse, ownClients.service, { grant_type: 'client_credentials' })
  const { header } = await checkJwt((await readTokens(granted)).access_token, gatehouse.metadata.jwks_uri)
  return String(header.kid)
}
