/** The streaming service as the server composes it: controllers loaded, gateway attached to the HTTP server, metrics shown. */
import type { Server } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { localAddress } from '../http/local-address.ts'
import type { Metrics } from '../protocol/metrics.ts'
import { Refusal } from '../protocol/refusal.ts'
import { VERSION } from '../protocol/version.ts'
import { loadControllers } from './controllers/load.ts'
import { createGateway, type Gateway, type GatewayOptions } from './gateway.ts'
import { watchGateway } from './metrics.ts'
import type { StreamSettings } from './settings.ts'

export interface StreamingOptions extends Omit<GatewayOptions, 'server' | 'controllers' | 'settings'> {
  readonly settings: StreamSettings & { readonly streamControllers: string }
  /** The name that clients are shown in ServerInfo. */
  readonly name: string
  readonly metrics: Metrics
  /** Path of the issuer, which upgrades may carry as other requests may. */
  readonly base: string
}

export async function openStreaming(app: FastifyInstance, server: Server, options: StreamingOptions): Promise<Gateway> {
  const { settings, name, metrics, base, ...rest } = options
  const controllers = settings.streamControllers === '' ? [] : await loadControllers(settings.streamControllers)
  const gateway = createGateway({
    ...rest,
    settings,
    controllers,
    server: { Name: name, Class: 'Gatehouse', Version: VERSION },
  })
  watchGateway(metrics, gateway)
  server.on('upgrade', (request, socket, head) => {
    request.url = localAddress(request.url ?? '/', base)
    gateway.upgrade(request, socket, head)
  })
  app.get('/Platform', async () => {
    throw new Refusal('stream.upgrade_required', 426, 'This address speaks WebSocket, sub-protocol PlatformJson', {
      headers: { upgrade: 'websocket', connection: 'upgrade' },
    })
  })
  return gateway
}
