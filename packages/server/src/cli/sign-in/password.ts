/** Reads passwords: from a terminal without echo, or from stdin. */
import { text } from 'node:stream/consumers'
import { CommandError } from '../errors.ts'

const ENTER = new Set(['\r', '\n', '\u0004'])
const BACKSPACE = new Set(['\u007f', '\b'])
const INTERRUPT = '\u0003'

/** Asks twice at a terminal; otherwise reads the first line of stdin. */
export async function readNewPassword(prompt: string): Promise<string> {
  if (!process.stdin.isTTY) {
    const given = await readPasswordLine()
    if (given === '')
      throw new CommandError('There is nothing on stdin: without a terminal, its first line is the password or secret')
    return given
  }
  const first = await askPassword(prompt)
  if ((await askPassword('Repeat it: ')) !== first) throw new CommandError('The two entries differ')
  return first
}

/** The first line of stdin. */
export async function readPasswordLine(): Promise<string> {
  return (await text(process.stdin)).split(/\r?\n/, 1)[0] ?? ''
}

/** Needs a terminal. */
export function askPassword(prompt: string): Promise<string> {
  const { stdin, stderr } = process
  stderr.write(prompt)
  stdin.setRawMode(true)
  stdin.setEncoding('utf8')
  stdin.resume()
  return new Promise((resolve, reject) => {
    let typed = ''
    const finish = (settle: () => void) => {
      stdin.off('data', onKeys)
      stdin.setRawMode(false)
      stdin.pause()
      stderr.write('\n')
      settle()
    }
    const onKeys = (chunk: string) => {
      for (const key of chunk) {
        if (ENTER.has(key)) return finish(() => resolve(typed))
        if (key === INTERRUPT) return finish(() => reject(new CommandError('Interrupted; nothing was changed')))
        typed = BACKSPACE.has(key) ? [...typed].slice(0, -1).join('') : typed + key
      }
    }
    stdin.on('data', onKeys)
  })
}
