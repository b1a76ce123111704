/** A whole Gatehouse on a free port, for tests that talk to it over real sockets. */

import { after, before } from 'node:test'
import type { Clock } from 'gatehouse-protocol'
import { loadConfig } from '../../packages/server/src/config/load.ts'
import { type RunningServer, startServer } from '../../packages/server/src/server/start.ts'
import { createLogger } from '../../packages/server/src/telemetry/log.ts'
import { openPlace, type TestPlace } from './engines.ts'
import { copyTemplate } from './sqlite-template.ts'
import { keepWritten } from './written.ts'

export interface TestServer extends RunningServer {
  /** Everything that was logged, one JSON object a line. */
  readonly log: readonly string[]
}

export interface TestServerOptions {
  readonly clock?: Clock
  /** Settings by their flag, for example { '--demo': 'true' }. */
  readonly flags?: Readonly<Record<string, string>>
  /** Makes tables and keys itself, as on its very first start. */
  readonly isFirstStart?: boolean
  /** What is logged is added here, also if the start fails. */
  readonly log?: string[]
}

export async function startTestServer(
  place: TestPlace,
  { clock, flags = {}, isFirstStart = false, log = [] }: TestServerOptions = {},
): Promise<TestServer> {
  if (!isFirstStart) await copyTemplate(place, flags, (clock ?? Date.now)())
  const settings = loadConfig({
    flags: {
      '--port': '0',
      '--stop-delay': '0',
      '--data': place.dataFolder,
      '--database-url': place.databaseUrl,
      // The rows of the demonstration stay as they are, unless a test wants it to trade.
      '--demo-market': 'false',
      // Its port is one for the whole machine.
      '--wire-port': 'off',
      ...flags,
    },
  })
  const write = (line: string) => {
    log.push(line)
    keepWritten(line)
  }
  const logger = createLogger({ level: 'debug', format: 'json', destination: { write } })
  const server = await startServer(settings, { logger, ...(clock === undefined ? {} : { clock }) })
  return { ...server, log }
}

/** A server on SQLite for the tests of the file or the suite: started and prepared before them, and stopped after them. */
export function useServer(options: TestServerOptions = {}, prepare?: () => unknown): TestServer {
  // Complete when the first test begins.
  const server = {} as TestServer
  let leave: (() => Promise<void>) | undefined
  before(async () => {
    const opened = await openPlace('sqlite')
    leave = opened.leave
    Object.assign(server, await startTestServer(opened.place, options))
    await prepare?.()
  })
  after(async () => {
    await server.stop()
    await leave?.()
  })
  return server
}

/** A clock that stands still until it is moved. */
export function createTestClock(start = Date.now()): Clock & { advance(milliseconds: number): void } {
  let now = start
  const clock = () => now
  return Object.assign(clock, {
    advance(milliseconds: number) {
      now += milliseconds
    },
  })
}
