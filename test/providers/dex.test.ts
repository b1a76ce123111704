/** dex as the other side: a user is created with a rule, and signs in again as the same one; after a restart with other keys too. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { IS_LONG_RUN, openPlace } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { openProviderPlace, type ProviderPlace, readCode } from '../support/providers/provider-place.ts'
import { decodeClaims, readAnswer } from '../support/sign-in-place.ts'
import { until } from '../support/until.ts'
import { createUserAgent, type Departure, type Page } from '../support/user-agent.ts'
import { reply } from '../support/visitor.ts'

const PROGRAM = process.env.DEX ?? ''
const skip = !IS_LONG_RUN
  ? 'runs in npm run test:all'
  : existsSync(PROGRAM)
    ? false
    : 'needs DEX, the path of the program dex (Go: github.com/dexidp/dex/cmd/dex)'

describe('dex', { skip, timeout: 120_000 }, () => {
  let dex: ChildProcess | undefined
  let issuer: string
  let config: string
  let place: ProviderPlace
  let leave: () => Promise<void>
  let ticking: NodeJS.Timeout

  before(async () => {
    const opened = await openPlace('sqlite')
    leave = opened.leave
    place = await openProviderPlace(opened.place)
    // The clock of dex cannot be held.
    ticking = setInterval(() => place.clock.advance(Date.now() - place.clock()), 100)
    const port = await freePort()
    issuer = `http://127.0.0.1:${port}/dex`
    config = join(opened.place.dataFolder, 'dex.json')
    const redirect = `${place.server.issuer}/external/dex/callback`
    await writeFile(
      config,
      JSON.stringify({
        issuer,
        storage: { type: 'memory' },
        web: { http: `127.0.0.1:${port}` },
        // Its stand-in for a directory: everybody is the same person, of the group "authors".
        connectors: [{ type: 'mockCallback', id: 'mock', name: 'Mock' }],
        staticClients: [{ id: 'gatehouse', name: 'Gatehouse', secret: 'a secret at dex', redirectURIs: [redirect] }],
      }),
    )
    await startDex()
    await place.stores.roles.put({ name: 'writer', scopes: ['Platform/News'] })
    const { status, body } = await place.admin('POST', '/admin/providers', {
      ...{ id: 'dex', name: 'dex', issuer, client_id: 'gatehouse', client_secret: 'a secret at dex', private: true },
      ...{ scopes: ['openid', 'profile', 'email', 'groups'], provision: 'create', username_claim: 'name' },
      ...{ require: { groups: ['authors'] }, rules: [{ claim: 'groups', value: 'authors', role: 'writer' }] },
    })
    assert.equal(status, 201, JSON.stringify(body))
  })
  after(async () => {
    clearInterval(ticking)
    await stopDex()
    await place.close()
    await leave()
  })

  async function startDex(): Promise<void> {
    dex = spawn(PROGRAM, ['serve', config], { stdio: 'ignore' })
    await until('dex answers', 10_000, async () => {
      const answer = await fetch(`${issuer}/.well-known/openid-configuration`).catch(() => undefined)
      return answer?.ok === true
    })
  }

  async function stopDex(): Promise<void> {
    if (dex === undefined || dex.exitCode !== null) return
    const exited = new Promise((resolve) => dex?.once('exit', resolve))
    dex.kill()
    await exited
  }

  /** In a new browser: to dex, which asks for approval at most, and back. */
  async function through(): Promise<Page | Departure> {
    const [here, there] = [place.newAgent(), createUserAgent({ home: new URL(issuer).origin })]
    let at = await there.get(await place.start(here, {}, 'dex'))
    for (let pages = 0; at.kind === 'page' && pages < 4; pages++) at = await reply(there, at, 'agree')
    assert.equal(at.kind, 'left', at.kind === 'page' ? at.body : '')
    return here.get(at.kind === 'left' ? at.url : '')
  }

  test('a user is created, gets the role of the rule, and is the same at the next sign-in', async () => {
    const first = decodeClaims(readAnswer(await through()).get('id_token') ?? '')
    const user = await place.stores.users.findById(String(first.sub))
    assert.deepEqual(user?.roleSources, new Map([['writer', ['provider:dex']]]))
    assert.deepEqual(first.amr, ['fed'])
    assert.equal(decodeClaims(readAnswer(await through()).get('id_token') ?? '').sub, first.sub)
  })

  test('while dex is away its sign-ins are refused with 503; back with other keys, it is believed again', async () => {
    await stopDex()
    const agent = place.newAgent()
    const url = await place.start(agent, {}, 'dex')
    const state = url.searchParams.get('state') ?? ''
    const answer = `${place.server.issuer}/external/dex/callback?${new URLSearchParams({ code: 'x', state })}`
    assert.equal(readCode(await agent.get(answer)), 'provider.unavailable')
    await startDex()
    // For an unknown key the set is fetched again once a minute.
    clearInterval(ticking)
    place.clock.advance(61_000)
    const { sub } = decodeClaims(readAnswer(await through()).get('id_token') ?? '')
    assert.match(String(sub), /^usr_/)
  })
})
