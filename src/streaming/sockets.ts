/** The WebSocket layer: frames by RFC 6455, compression by RFC 7692 with bounded memory. */
import { type Server, type ServerOptions, WebSocket, WebSocketServer } from 'ws'
import { chooseSubProtocol } from './handshake.ts'
import type { Peer } from './peer.ts'
import type { StreamSettings } from './settings.ts'

/** A socket that knows its peer, so that all sockets can share the same listeners. */
export class PeerSocket extends WebSocket {
  peer: Peer | undefined
}

type SocketServer = Server<typeof PeerSocket>

/** The server to upgrade with, by the compression that the client offers. */
export function createSocketServers(settings: StreamSettings): (extensions: string | undefined) => SocketServer {
  const servers = new Map<string, SocketServer>()
  return (extensions = '') => {
    const windows = settings.streamDeflate ? readOffer(extensions, settings.streamDeflateWindowBits) : undefined
    const key = windows === undefined ? '' : `${windows.server} ${windows.client}`
    const known = servers.get(key)
    if (known !== undefined) return known
    const server = createSocketServer(settings, windows)
    servers.set(key, server)
    return server
  }
}

interface Windows {
  readonly server: number
  /** Undefined when the client did not say that it can limit its window (RFC 7692 §7.1.2.2). */
  readonly client: number | undefined
}

/** Undefined when compression is not offered. */
function readOffer(extensions: string, most: number): Windows | undefined {
  const offer = extensions.split(',').find((extension) => extension.split(';', 1)[0]?.trim() === 'permessage-deflate')
  if (offer === undefined) return undefined
  const parameters = new Map(
    offer.split(';').map((parameter) => {
      const [name = '', value = ''] = parameter.split('=', 2)
      return [name.trim(), Number(value.replaceAll('"', '').trim())] as const
    }),
  )
  // A size that does not exist counts as none here; the socket layer refuses the offer (RFC 7692 §7.1.2).
  const limit = (name: string): number => {
    const size = parameters.get(name) ?? 0
    return WINDOW_BITS.includes(size) ? Math.min(most, size) : most
  }
  return {
    server: limit('server_max_window_bits'),
    client: parameters.has('client_max_window_bits') ? limit('client_max_window_bits') : undefined,
  }
}

const WINDOW_BITS: readonly number[] = [8, 9, 10, 11, 12, 13, 14, 15]

function createSocketServer(settings: StreamSettings, windows: Windows | undefined): SocketServer {
  const options: ServerOptions<typeof PeerSocket> = {
    noServer: true,
    clientTracking: false,
    WebSocket: PeerSocket,
    maxPayload: settings.streamMaxMessageBytes,
    handleProtocols: (offered) => chooseSubProtocol(offered) ?? false,
    perMessageDeflate: windows !== undefined && {
      // With takeover every connection would keep two windows for ever (10,000 connections: 1.5 GB).
      serverNoContextTakeover: true,
      clientNoContextTakeover: true,
      serverMaxWindowBits: windows.server,
      ...(windows.client === undefined ? {} : { clientMaxWindowBits: windows.client }),
      threshold: settings.streamDeflateThreshold,
      zlibDeflateOptions: { level: 3, memLevel: 4, chunkSize: CHUNK_BYTES },
      zlibInflateOptions: { chunkSize: CHUNK_BYTES },
    },
  }
  return new WebSocketServer(options)
}

/** Each compressor and decompressor keeps one buffer of this size. */
const CHUNK_BYTES = 4096
