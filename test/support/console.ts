/** The console on a demonstration server in a real Chromium, for the tests of its areas. */
import assert from 'node:assert/strict'
import { buildConsole } from '../../packages/console/build.js'
import type { Engine } from '../../packages/server/src/store/database/database.ts'
import { loadAxe } from './axe.ts'
import { type BrowserContext, type Page, startChromium, type TestBrowser } from './chromium.ts'
import { ADMIN, ALICE } from './demo-user.ts'
import { IS_LONG_RUN, openPlace, type TestPlace } from './engines.ts'
import { stopOwnPostgres } from './postgres.ts'
import { startTestServer, type TestServer, type TestServerOptions } from './server.ts'

export { ADMIN, ALICE }

export interface ConsoleScene {
  /** Where the server keeps its data: for another node, or for what another process writes. */
  readonly place: TestPlace
  readonly server: TestServer
  readonly browser: TestBrowser
  /** A page of a fresh browser, signed in, at a path below /console such as `/people`. */
  open(path?: string, options?: OpenOptions): Promise<ConsolePage>
  stop(): Promise<void>
}

export interface OpenOptions {
  readonly user?: { readonly username: string; readonly password: string }
  readonly dark?: boolean
  readonly width?: number
  /** Another page of the same browser: it shares the cookies, so no new sign-in is needed. */
  readonly beside?: ConsolePage
}

export interface ConsolePage {
  readonly page: Page
  readonly context: BrowserContext
  /** What went wrong so far: script errors, violations of the policy, requests to elsewhere. */
  readonly complaints: string[]
  /** Fails if anything went wrong. Complaints that match one of `expected` are part of the test. */
  check(...expected: readonly RegExp[]): void
  /** One line for each fault that axe-core finds. */
  axe(): Promise<string[]>
  close(): Promise<void>
}

export interface ConsoleOptions extends TestServerOptions {
  /** Of short runs; long ones try the tests on both. */
  readonly engine?: Engine
  /** Runs before the server starts. */
  readonly prepare?: (place: TestPlace) => Promise<void>
}

/** Names an engine for all files: test/console/on-postgres.test.ts runs them a second time. */
export const CONSOLE_ENGINE = 'TEST_CONSOLE_ENGINE'

export async function openConsole(options: ConsoleOptions = {}): Promise<ConsoleScene> {
  await buildConsole()
  const usual = IS_LONG_RUN ? 'sqlite' : (options.engine ?? 'sqlite')
  const engine = process.env[CONSOLE_ENGINE] === 'postgres' ? 'postgres' : usual
  const { place, leave } = await openPlace(engine)
  await options.prepare?.(place)
  const flags = { '--demo': 'true', '--stream-drain-time': '0', ...options.flags }
  const server = await startTestServer(place, { ...options, flags })
  const browser = await startChromium()
  return {
    place,
    server,
    browser,
    async open(path = '', { user = ADMIN, dark, width, beside } = {}) {
      const context = beside?.context ?? (await browser.newContext({ ...(dark && { dark }), ...(width && { width }) }))
      const opened = watch(await context.newPage(), context, server.issuer)
      await opened.page.goto(`${server.issuer}/console${path}`)
      if (beside === undefined) await signInOn(opened.page, user)
      await opened.page.locator('.shell').waitFor()
      return opened
    },
    async stop() {
      await browser.stop()
      await server.stop()
      await leave()
      if (engine === 'postgres') await stopOwnPostgres()
    },
  }
}

/** On the page of the product itself, which the console leads to. */
export async function signInOn(page: Page, { username, password }: typeof ADMIN): Promise<void> {
  await page.locator('#username').fill(username)
  await page.locator('#password').fill(password)
  await page.locator('#sign-in-submit').click()
}

function watch(page: Page, context: BrowserContext, issuer: string): ConsolePage {
  const complaints: string[] = []
  const own = [new URL(issuer).origin, new URL(issuer.replace(/^http/, 'ws')).origin, 'null']
  const check = (url: string) => {
    if (!own.includes(new URL(url).origin)) complaints.push(`request to ${url}`)
  }
  page.on('pageerror', (error) => complaints.push(`script error: ${error.stack ?? error}`))
  page.on('console', (message) => {
    if (message.type() === 'error' || /content security policy/i.test(message.text()))
      complaints.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => check(request.url()))
  page.on('websocket', (socket) => check(socket.url()))
  return {
    page,
    context,
    complaints,
    check(...expected) {
      const unexpected = complaints.filter((line) => !expected.some((pattern) => pattern.test(line)))
      assert.deepEqual(unexpected, [])
    },
    axe: () => findFaults(page),
    close: () => page.close(),
  }
}

async function findFaults(page: Page): Promise<string[]> {
  await loadAxe(page)
  return page.evaluate(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ': ' + html + ' ' + failureSummary)))`)
}
