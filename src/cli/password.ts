/** Asks for a password at the terminal without showing it, or takes the first line of stdin. */
import { text } from 'node:stream/consumers'
import { Usage } from './command.ts'

const ENTER = new Set(['\r', '\n', '\u0004'])
const ERASE = new Set(['\u007f', '\b'])
const INTERRUPT = '\u0003'

/** For a new password: asked for twice. */
export async function readPassword(prompt: string): Promise<string> {
  if (!process.stdin.isTTY) return firstLine(await text(process.stdin))
  const first = await askPassword(prompt)
  if ((await askPassword('Once more: ')) !== first) throw new Usage('The two passwords differ')
  return first
}

function firstLine(input: string): string {
  return input.split(/\r?\n/, 1)[0] ?? ''
}

/** At a terminal only. */
export function askPassword(prompt: string): Promise<string> {
  const { stdin, stderr } = process
  stderr.write(prompt)
  stdin.setRawMode(true)
  stdin.setEncoding('utf8')
  stdin.resume()
  return new Promise((resolve, reject) => {
    let typed = ''
    const finish = (settle: () => void) => {
      stdin.off('data', take)
      stdin.setRawMode(false)
      stdin.pause()
      stderr.write('\n')
      settle()
    }
    const take = (chunk: string) => {
      for (const key of chunk) {
        if (ENTER.has(key)) return finish(() => resolve(typed))
        if (key === INTERRUPT) return finish(() => reject(new Usage('Nothing was changed')))
        typed = ERASE.has(key) ? [...typed].slice(0, -1).join('') : typed + key
      }
    }
    stdin.on('data', take)
  })
}
