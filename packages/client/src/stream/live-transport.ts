/** Where live queries are opened: on the stream or, where no WebSocket can be opened, by server-sent events. */
import type { Channel, Channels } from './channel.ts'
import { LiveEvents } from './events.ts'
import { NO_WEBSOCKET } from './protocol.ts'
import type { Stream } from './stream.ts'

export class LiveTransport implements Channels {
  #channels: Channels
  readonly #open = new Set<Channel>()

  constructor(stream: Stream) {
    this.#channels = stream
    stream.on('state', ({ code }) => {
      if (code !== NO_WEBSOCKET || this.#channels !== stream) return
      this.#channels = new LiveEvents(stream.http)
      for (const channel of this.#open) {
        stream.detach(channel)
        this.#channels.attach(channel)
      }
    })
  }

  attach(channel: Channel): void {
    this.#open.add(channel)
    this.#channels.attach(channel)
  }

  detach(channel: Channel): void {
    this.#open.delete(channel)
    this.#channels.detach(channel)
  }
}
