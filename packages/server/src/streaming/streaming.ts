/** The streaming service, the entry of this folder: its gateway with the controllers, and its route. */

import { isPlatformScope, opensPlatform, Refusal, SCOPES, STREAM_PATH, VERSION } from 'gatehouse-protocol'
import type { ApiRoute } from '../http/openapi.ts'
import { requireScope } from '../http/request/authentication.ts'
import type { Route, RouteGroup } from '../http/route.ts'
import type { RemoteControllers } from '../store/controllers/controllers.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { CallTrace } from '../telemetry/trace.ts'
import { DeclaredControllers } from './declared-controllers.ts'
import { Gateway, type GatewayOptions } from './gateway/gateway.ts'
import { watchGateway } from './metrics.ts'
import type { RemoteOptions } from './remote/remote.ts'
import type { StreamSettings } from './settings.ts'
import type { Controller } from './topics/controller.ts'

export { type StartedControllers, startControllers } from './controllers/start.ts'
export type { Gateway } from './gateway/gateway.ts'
export type { StreamLicences } from './licences.ts'
export { asJson, dataText } from './topics/data-text.ts'

export interface StreamingOptions extends Omit<GatewayOptions, 'server' | 'settings'> {
  readonly settings: StreamSettings
  /** The name that clients are shown in ServerInfo. */
  readonly name: string
  readonly metrics: Metrics
  readonly trace: CallTrace | undefined
  /** Where remote controllers are declared. */
  readonly remoteControllers: Pick<RemoteControllers, 'list'>
  readonly callToken: RemoteOptions['callToken']
  readonly processes: number
}

export interface Streaming {
  readonly gateway: Gateway
  readonly routes: RouteGroup
  /** Takes over the declared controllers of the database; changes are taken over by themselves. */
  loadDeclared(): Promise<void>
  /** Ends the connections in order, then everything else. */
  close(): Promise<void>
}

export async function openStreaming(options: StreamingOptions): Promise<Streaming> {
  const { settings, name, metrics, trace, remoteControllers: store, callToken, processes, ...rest } = options
  const gateway = new Gateway({
    ...rest,
    settings,
    server: { Name: name, Class: 'Gatehouse', Version: VERSION },
  })
  watchGateway(metrics, gateway)
  const { bus, logger } = rest
  const maxReplyBytes = () => gateway.maxMessageBytes
  const declared = new DeclaredControllers({
    ...{ store, bus, gateway, callToken, logger, metrics, trace, maxReplyBytes, processes },
  })
  return {
    gateway,
    routes: streamRoutes(gateway, settings.streamEcho),
    loadDeclared: () => declared.load(),
    async close() {
      await gateway.drain()
      declared.close()
    },
  }
}

/** Custom controllers. Throws BadController with the path of an unusable module and the reason. */
export async function loadControllers(path: string): Promise<Controller[]> {
  const loading = await import('./controllers/load.ts')
  return loading.loadControllers(path)
}

/** The routes of the service in the OpenAPI document. */
export async function describeRoutes(): Promise<ApiRoute[]> {
  const { describeStreaming } = await import('./gateway/openapi.ts')
  return describeStreaming()
}

export function streamRoutes(
  gateway: Pick<Gateway, 'accept' | 'checkRoom' | 'echo' | 'topicsFor'>,
  hasEcho: boolean,
): RouteGroup {
  const stream: Route = {
    method: 'GET',
    path: STREAM_PATH,
    // A page does not see why its upgrade was refused. Here it can ask, and learns when to try again.
    handle({ address }) {
      gateway.checkRoom(address)
      upgradeRequired()
    },
    upgrade: ({ address }, { request, socket, head }) => gateway.accept(request, socket, head, address),
  }
  const echo: Route = {
    method: 'GET',
    path: '/echo',
    handle: upgradeRequired,
    upgrade: ({ address }, { request, socket, head }) => gateway.echo(request, socket, head, address),
  }
  const topics: Route = {
    method: 'GET',
    path: `${STREAM_PATH}/topics`,
    access(principal) {
      if (![...principal.scopes].some(opensPlatform)) requirePlatformScope(principal)
    },
    handle(context) {
      context.setHeader('cache-control', 'no-store')
      context.json({ items: gateway.topicsFor(context.principal.scopes) })
    },
  }
  return { at: ['/platform'], limit: 'stream', routes: [stream, topics, ...(hasEcho ? [echo] : [])] }
}

const requirePlatformScope = requireScope(...SCOPES.filter(isPlatformScope))

function upgradeRequired(): never {
  throw new Refusal('stream.upgrade_required', 426, 'This address needs a WebSocket upgrade', {
    headers: { upgrade: 'websocket', connection: 'upgrade' },
  })
}
