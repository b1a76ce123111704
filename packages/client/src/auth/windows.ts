/** How a page and the pop-up or frame that it opened tell each other what came back from the server. */
import { AuthError } from '../errors.ts'
import { abortable } from '../wait.ts'

/** The query string of the page that the pop-up or frame returns to. */
export async function receive(key: string, signal: AbortSignal): Promise<URLSearchParams> {
  try {
    return new URLSearchParams(await talk(key, signal))
  } catch (cause) {
    throw new AuthError('No answer came back', { code: 'client.no_answer', cause })
  }
}

/** Between the page that opened a pop-up or frame and the page there: sends the text, and resolves with what the other sends. */
export function talk(key: string, signal: AbortSignal, text?: string): Promise<string> {
  const channel = new BroadcastChannel(key)
  const heard = new Promise<string>((resolve) => {
    channel.onmessage = ({ data }) => {
      // The other one learns that it was heard.
      channel.postMessage('')
      resolve(String(data))
    }
  })
  if (text !== undefined) channel.postMessage(text)
  return abortable(heard, signal).finally(() => channel.close())
}
