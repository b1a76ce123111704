/** The error page: what happened in words, the code and the request id, and where to continue. */
import { contact } from './form-parts.ts'
import { fill, type Html, html } from './html.ts'
import { icon } from './icons.ts'
import { type PageFrame, PLACES, page } from './layout.ts'

/** A page of this server to continue with. */
export interface Way {
  readonly path: string
  readonly text: string
}

export interface ErrorData {
  /** For the user. */
  readonly title: string
  readonly lead: string
  /** For developers: the error code and description. */
  readonly code?: string | undefined
  readonly detail?: string | undefined
  /** Identifies the line in the log. */
  readonly requestId: string
  /** The person made the error, such as a wrong address: no support is needed. */
  readonly isMistake?: boolean
  /** Offered first; the start page is offered always. */
  readonly way?: 'sign-in' | 'console' | Way | undefined
}

export function errorPage(frame: PageFrame, data: ErrorData): Html {
  const { messages } = frame.language
  const { code, detail } = data
  const body = html`
<div class="state bad">${icon('alert')}</div>
<h1>${data.title}</h1>
<p class="lead">${data.lead}</p>
<dl class="facts">
${code !== undefined && html`<dt>${messages.errorCode}</dt><dd>${explained(frame, code)}</dd>`}${detail !== undefined && detail !== data.title && html`<dt>${messages.errorDetail}</dt><dd id="error-description">${detail}</dd>`}
<dt>${messages.errorReference}</dt><dd><code id="request-id">${data.requestId}</code></dd>
</dl>
${data.isMistake !== true && html`<p class="quiet">${fill(messages.errorHelp, contact(frame))}</p>`}
<div class="actions">${wayOn(frame, data.way)}</div>`
  return page(frame, { title: data.title, body })
}

/** The documentation says what a code means. */
function explained({ base, places }: PageFrame, code: string): Html {
  const text = html`<code id="error">${code}</code>`
  if (!places.includes('documentation')) return text
  return html`<a href="${base}${PLACES.documentation}/search?q=${encodeURIComponent(code)}">${text}</a>`
}

function wayOn({ base, language, places }: PageFrame, way: ErrorData['way']): Html {
  const { messages } = language
  const start = (kind: string) => html`<a class="button ${kind}" id="to-start" href="${base}/">${messages.toStart}</a>`
  if (typeof way === 'object')
    return html`<a class="button" id="way-on" href="${base}${way.path}">${way.text}</a>${start('plain')}`
  if (way === 'sign-in') return html`<a class="button" href="${base}/sign-in">${messages.signIn}</a>${start('plain')}`
  if (way === 'console' && places.includes('console'))
    return html`<a class="button" href="${base}${PLACES.console}">${messages.toConsole}</a>${start('plain')}`
  return start('')
}
