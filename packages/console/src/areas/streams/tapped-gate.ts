/** A client with a connection of its own, whose messages are passed on as they are on the wire. */
import { Gatehouse, type TokenSource } from '../../../../client/src/index.ts'
import { gate } from '../../gate.ts'
import { server } from '../../server.ts'

export interface Tap {
  /** After each reconnection there is another one. */
  readonly onSocket?: (socket: WebSocket) => void
  readonly onMessage: (direction: 'in' | 'out', text: string) => void
}

/** The library keeps it connected, with the token of the page. */
export function createTappedGate({ onSocket, onMessage }: Tap) {
  class Tapped extends WebSocket {
    constructor(url: string, protocols: string) {
      super(url, protocols)
      onSocket?.(this)
      this.addEventListener('message', ({ data }) => onMessage('in', String(data)))
    }
    override send(data: string): void {
      onMessage('out', data)
      super.send(data)
    }
  }
  return new Gatehouse(server.issuer, {
    auth: () => tokensOfPage(gate.auth),
    WebSocket: Tapped,
  })
}

/** Without `close`, which would end them for the page. */
function tokensOfPage(auth: TokenSource): TokenSource {
  const { wrap, prove } = auth
  return { token: (refused) => auth.token(refused), ...(wrap && { wrap }), ...(prove && { prove }) }
}
