/** A gateway on a free port with a clock, a bus and tokens that the test controls. */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { loadConfig } from '../../src/config.ts'
import type { Bus } from '../../src/events/bus.ts'
import { createLocalBus } from '../../src/events/local-bus.ts'
import type { Doors } from '../../src/http/doors.ts'
import { createLogger } from '../../src/http/log.ts'
import type { Audit } from '../../src/protocol/audit-events.ts'
import type { Authenticate } from '../../src/protocol/principal.ts'
import type { Controller } from '../../src/streaming/controller.ts'
import { createGateway, type Gateway } from '../../src/streaming/gateway.ts'
import type { StreamSettings } from '../../src/streaming/settings.ts'
import { createTestClock } from './server.ts'
import { createTokenMint, type TokenMint } from './tokens.ts'

export interface TestGateway {
  readonly gateway: Gateway
  readonly mint: TokenMint
  readonly bus: Bus
  readonly clock: ReturnType<typeof createTestClock>
  readonly port: number
  readonly log: readonly string[]
  stop(): Promise<void>
}

export interface TestGatewayOptions {
  readonly settings?: Partial<StreamSettings>
  readonly controllers?: readonly Controller[]
  readonly bus?: Bus
  readonly authenticate?: Authenticate
  readonly audit?: Audit
  readonly doors?: Pick<Doors, 'enter' | 'admit'>
  /** Which lines of the log are kept: all, unless a run is so long that they would fill the memory. */
  readonly keepsLine?: (line: string) => boolean
}

/** Stopped at the end of the test. The sweep runs every 5 ms of real time, the clock only when the test moves it. */
export async function startGateway(test: TestContext, options: TestGatewayOptions = {}): Promise<TestGateway> {
  const started = await openGateway(options)
  test.after(() => started.stop())
  return started
}

export async function openGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const clock = createTestClock(Date.UTC(2026, 10, 15, 0, 0, 0))
  const mint = createTokenMint(clock)
  const bus = options.bus ?? createLocalBus()
  const log: string[] = []
  const { keepsLine = () => true } = options
  const write = (line: string): void => void (keepsLine(line) && log.push(line))
  const logger = createLogger({ level: 'debug', format: 'json', destination: { write } })
  const defaults = loadConfig({ flags: { '--stream-sweep-interval': '0.005', '--stream-drain-time': '0.05' } }).config
  const gateway = createGateway({
    authenticate: options.authenticate ?? mint.authenticate,
    bus,
    clock,
    logger,
    settings: { ...defaults, ...options.settings },
    server: { Name: 'test', Class: 'Gatehouse', Version: '0.0.0' },
    controllers: options.controllers ?? [],
    ...(options.audit === undefined ? {} : { audit: options.audit }),
    ...(options.doors === undefined ? {} : { doors: options.doors }),
  })
  const server = http.createServer((_request, response) => response.writeHead(404).end())
  server.on('upgrade', gateway.upgrade)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    gateway,
    mint,
    bus,
    clock,
    log,
    port: (server.address() as AddressInfo).port,
    async stop() {
      await gateway.drain()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
