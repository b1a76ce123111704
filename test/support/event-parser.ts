/** A parser of server-sent events by the standard (WHATWG HTML §9.2.6), to check what the server writes. */

export interface ServerSentEvent {
  /** `message` where the server names none. */
  readonly type: string
  readonly data: string
  /** The id of this event or, if it has none, of an earlier one. */
  readonly lastId: string
}

export class EventParser {
  #rest = ''
  /** The line ended with a carriage return, and its line feed may be at the start of the next text. */
  #endsInReturn = false
  #type = ''
  #data: string[] = []
  #lastId = ''

  /** The events that this text completes. */
  push(text: string): ServerSentEvent[] {
    const events: ServerSentEvent[] = []
    const all = this.#rest + (this.#endsInReturn && text.startsWith('\n') ? text.slice(1) : text)
    if (text !== '') this.#endsInReturn = text.endsWith('\r')
    let start = 0
    // What is left from before has no line end.
    LINE_END.lastIndex = this.#rest.length
    for (let end = LINE_END.exec(all); end !== null; end = LINE_END.exec(all)) {
      this.#take(all.slice(start, end.index), events)
      start = LINE_END.lastIndex
    }
    this.#rest = all.slice(start)
    return events
  }

  #take(line: string, events: ServerSentEvent[]): void {
    if (line === '') {
      if (this.#data.length > 0)
        events.push({ type: this.#type || 'message', data: this.#data.join('\n'), lastId: this.#lastId })
      this.#type = ''
      this.#data = []
      return
    }
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1))
    switch (field) {
      case 'event':
        this.#type = value
        break
      case 'data':
        this.#data.push(value)
        break
      case 'id':
        if (!value.includes('\0')) this.#lastId = value
        break
      default:
        // A comment begins with a colon; other fields, such as retry, are not used.
        break
    }
  }
}

const LINE_END = /\r\n|\n|\r/g
