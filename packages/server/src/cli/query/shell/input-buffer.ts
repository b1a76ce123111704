/** Divides lines into statements, which end with a semicolon, and commands of the shell, which begin with a backslash or are exit or quit. */

export type Input =
  | { readonly kind: 'statement'; readonly text: string }
  | { readonly kind: 'command'; readonly text: string }

/** The construct that the text read so far has not closed. */
export type Place = 'code' | 'text' | 'quoted' | 'line-comment' | 'block-comment'

export class InputBuffer {
  #text = ''
  /** The lines that the text came from. */
  #lines = 0
  #scan = newScan()

  /** Adds a line without its line end; returns what is complete. */
  push(line: string): Input[] {
    if (this.isEmpty && this.#scan.place !== 'block-comment' && isCommand(line)) {
      this.clear()
      return [{ kind: 'command', text: line.trim() }]
    }
    this.#lines++
    this.#text += this.#text === '' ? line : `\n${line}`
    const found: Input[] = []
    for (let end = scanOn(this.#scan, this.#text); end !== undefined; end = scanOn(this.#scan, this.#text)) {
      if (this.#scan.hasCode) found.push({ kind: 'statement', text: this.#text.slice(0, end).trim() })
      this.#text = this.#text.slice(end + 1)
      this.#scan = newScan()
    }
    if (found.length > 0 && isCommand(this.#text)) {
      found.push({ kind: 'command', text: this.#text.trim() })
      this.clear()
    }
    if (this.isEmpty && this.#scan.place !== 'block-comment') this.clear()
    return found
  }

  /** What is left at the end of the input, as a statement. */
  end(): Input[] {
    const rest = this.#text.trim()
    // A comment that is never closed is an error, which the server explains.
    const isStatement = !this.isEmpty || this.#scan.place === 'block-comment'
    this.clear()
    return isStatement ? [{ kind: 'statement', text: rest }] : []
  }

  clear(): void {
    this.#text = ''
    this.#lines = 0
    this.#scan = newScan()
  }

  /** Whether nothing but blanks and comments was read since the last statement. */
  get isEmpty(): boolean {
    return !this.#scan.hasCode
  }

  /** Whether a line continues what an earlier one began. */
  get continues(): boolean {
    return this.#lines > 0
  }

  get text(): string {
    return this.#text
  }

  get place(): Place {
    return this.#scan.place
  }
}

/** No statement begins with exit or quit, and other shells end by them. */
function isCommand(line: string): boolean {
  return /^\s*(\\|(exit|quit)\s*;?\s*$)/i.test(line)
}

/** Where the end of the text is. */
export function placeAfter(text: string): Place {
  const scan = newScan()
  for (let end = scanOn(scan, text); end !== undefined; end = scanOn(scan, text)) scan.at = end + 1
  return scan.place
}

/** The statement in one line, for the history; undefined if a text or a quoted name has several lines. */
export function inOneLine(statement: string): string | undefined {
  const scan = newScan()
  let line = ''
  while (scan.at < statement.length) {
    const { at, place } = scan
    step(scan, statement)
    const part = statement.slice(at, scan.at)
    if (part === '\n' && (place === 'text' || place === 'quoted')) return undefined
    if (part === '\n' || (place === 'code' && part.trim() === '')) line = line.endsWith(' ') ? line : `${line} `
    else if (place !== 'line-comment' && scan.place !== 'line-comment') line += part
  }
  return line.trim()
}

interface Scan {
  at: number
  place: Place
  hasCode: boolean
}

function newScan(): Scan {
  return { at: 0, place: 'code', hasCode: false }
}

/** Advances to the next semicolon and returns its position; undefined at the end of the text. */
function scanOn(scan: Scan, text: string): number | undefined {
  for (; scan.at < text.length; step(scan, text)) if (scan.place === 'code' && text[scan.at] === ';') return scan.at
  return undefined
}

/** Takes one character, or the two that begin or end a comment. */
function step(scan: Scan, text: string): void {
  const character = text[scan.at] ?? ''
  const two = character + (text[scan.at + 1] ?? '')
  scan.at++
  switch (scan.place) {
    case 'code':
      if (two === '--' || two === '/*') {
        scan.place = two === '--' ? 'line-comment' : 'block-comment'
        scan.at++
      } else if (character.trim() !== '') {
        scan.hasCode = true
        // A doubled quote ends a text and begins the next, which has the same effect.
        if (character === "'") scan.place = 'text'
        if (character === '"') scan.place = 'quoted'
      }
      break
    case 'text':
      if (character === "'") scan.place = 'code'
      break
    case 'quoted':
      if (character === '"') scan.place = 'code'
      break
    case 'line-comment':
      if (character === '\n') scan.place = 'code'
      break
    case 'block-comment':
      if (two === '*/') {
        scan.place = 'code'
        scan.at++
      }
      break
  }
}
