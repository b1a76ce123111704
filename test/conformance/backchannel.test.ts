/** Outgoing back-channel logout requests: their token, their timeout, and the addresses that are not called. */
import assert from 'node:assert/strict'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { openPlace } from '../support/engines.ts'
import { checkJwt } from '../support/id-token.ts'
import { type Gatehouse, type GatehouseOptions, startGatehouse } from '../support/providers/gatehouse.ts'
import { CALLBACK, type ClientFixture, person } from '../support/providers/provider.ts'
import { visit } from '../support/visitor.ts'
import { answer, decodeClaims } from './steps.ts'
import { createTrial, type Trial } from './trial.ts'

interface Listener {
  readonly origin: string
  readonly received: { path: string; token: string }[]
  stop(): Promise<void>
}

describe('back-channel logout', () => {
  let listener: Listener
  let leave: () => Promise<void>
  let allowing: Gatehouse
  let refusing: Gatehouse
  before(async () => {
    listener = await listen()
    const places = [await openPlace('sqlite'), await openPlace('sqlite')] as const
    leave = async () => {
      for (const place of places) await place.leave()
    }
    const options = {
      declaration: { users: [{ ...person.claims, ...credentials() }], clients: clients(listener.origin) },
    }
    allowing = await startGatehouse(places[0].place, options satisfies GatehouseOptions)
    refusing = await startGatehouse(places[1].place, { ...options, flags: { '--logout-private': 'false' } })
  })
  after(async () => {
    // Stop the relying party that hangs first: the server waits for open calls when it stops.
    await listener.stop()
    await allowing.stop()
    await refusing.stop()
    await leave()
  })

  test('B-75: all clients of the session are notified in parallel, and one that hangs or fails does not delay the others', async () => {
    const trial = await signInEverywhere(allowing)
    const started = Date.now()
    await signOut(trial)
    assert.ok(Date.now() - started < 2000, 'the user had to wait for the clients')
    await until(() => PATHS.every((path) => received(`/${path}`) !== undefined))
    assert.equal(received('/target'), undefined, 'a redirect was followed')
    const { header, claims } = await checkJwt(received('/good')?.token ?? '', allowing.metadata.jwks_uri)
    assert.equal(header.typ, 'logout+jwt')
    assert.ok(Number(claims.exp) - Number(claims.iat) <= 300, 'the lifetime of the logout token is too long')
    assert.deepEqual(Object.keys(claims).sort(), ['aud', 'events', 'exp', 'iat', 'iss', 'jti', 'sid', 'sub'])
  })

  test('B-75: a password change ends the other sessions and notifies their clients', async () => {
    listener.received.splice(0)
    await signInEverywhere(allowing)
    const elsewhere = createTrial(allowing, 'C', false, buildClient('http://127.0.0.1', 'good'))
    await answer(elsewhere)
    const page = await elsewhere.agent.get('/account/password')
    assert.ok(page.kind === 'page' && page.forms[0])
    const passwords = { current_password: person.password, new_password: `${person.password} anew` }
    const changed = await elsewhere.agent.submit(page.forms[0], passwords)
    assert.ok(changed.kind === 'page' && changed.status === 200)
    await until(() => PATHS.every((path) => received(`/${path}`) !== undefined))
  })

  test('C-115: private addresses are not called unless allowed', async () => {
    listener.received.splice(0)
    const trial = await signInEverywhere(refusing)
    await signOut(trial)
    await new Promise((resolve) => setTimeout(resolve, 500))
    // The other server may still repeat its calls.
    const { issuer } = refusing.metadata
    assert.deepEqual(
      listener.received.filter(({ token }) => decodeClaims(token).iss === issuer),
      [],
    )
  })

  function received(path: string) {
    return listener.received.find((arrival) => arrival.path === path)
  }
})

function credentials() {
  return { username: person.username, password: person.password }
}

const PATHS = ['good', 'failing', 'hanging', 'redirecting', 'flooding']

function buildClient(origin: string, path: string) {
  return {
    client_id: path,
    client_secret: `the-secret-of-${path}-which-is-long-enough`,
    token_endpoint_auth_method: 'client_secret_basic',
    redirect_uris: [CALLBACK],
    post_logout_redirect_uris: [],
    response_types: ['code'],
    grant_types: ['authorization_code'],
    backchannel_logout_uri: `${origin}/${path}`,
    backchannel_logout_session_required: true,
  } satisfies ClientFixture
}

function clients(origin: string) {
  return PATHS.map((path) => {
    const { post_logout_redirect_uris: _, ...client } = buildClient(origin, path)
    return {
      ...client,
      redirect_uris: [...client.redirect_uris],
      response_types: ['code' as const],
      grant_types: ['authorization_code' as const],
      token_endpoint_auth_method: 'client_secret_basic' as const,
      skip_consent: true,
    }
  })
}

async function signInEverywhere(gatehouse: Gatehouse): Promise<Trial> {
  const trial = createTrial(gatehouse, 'C', false, buildClient('http://127.0.0.1', 'good'))
  for (const path of PATHS) await answer(trial.withClient(buildClient('http://127.0.0.1', path)))
  return trial
}

async function signOut({ agent, provider }: Trial): Promise<void> {
  await visit(agent, await agent.get(provider.metadata.end_session_endpoint), person)
}

async function listen(): Promise<Listener> {
  const received: { path: string; token: string }[] = []
  const server = http.createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      const path = request.url ?? ''
      received.push({ path, token: new URLSearchParams(body).get('logout_token') ?? '' })
      if (path === '/failing') response.writeHead(500).end()
      else if (path === '/redirecting') response.writeHead(307, { location: '/target' }).end()
      else if (path === '/flooding') response.writeHead(200).end('x'.repeat(10_000_000))
      else if (path !== '/hanging') response.writeHead(200).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; tries < 100 && !condition(); tries++) await new Promise((resolve) => setTimeout(resolve, 50))
  assert.ok(condition(), 'it did not happen within five seconds')
}
