/** The buttons that lead to other providers. Links and not forms: a form of a page could not be redirected to another origin. */
import { type Html, html } from './html.ts'
import type { Messages } from './messages/en.ts'

export interface ProviderLink {
  readonly name: string
  readonly url: string
}

/** `isSecond`: below another way to continue. */
export function providerLinks(providers: readonly ProviderLink[], messages: Messages, isSecond: boolean): Html {
  const links = providers.map(
    ({ name, url }) => html`<a class="button${isSecond && ' plain'}" href="${url}">${messages.signInWith(name)}</a>`,
  )
  return html`${links.length > 0 && html`<div class="actions" id="providers">${links}</div>`}`
}
