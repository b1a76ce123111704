/** A browser without script: cookies, redirects taken by hand, forms filled and sent; it stops where the provider lets go of it. */
import { type CookieJar, createCookieJar } from './cookie-jar.ts'
import { type Button, type Form, formValues, readForms } from './html-form.ts'

/** A page of the provider. */
export interface Page {
  readonly kind: 'page'
  readonly url: URL
  readonly status: number
  readonly headers: Headers
  readonly body: string
  readonly forms: readonly Form[]
}

/** The provider sends the browser elsewhere, by redirect or by a form that posts itself. */
export interface Departure {
  readonly kind: 'left'
  readonly method: 'GET' | 'POST'
  readonly url: URL
  /** The fields of a posted form. */
  readonly form: readonly [name: string, value: string][]
  /** The page that carried the form. */
  readonly page: Page | undefined
}

export interface Hop {
  readonly method: string
  readonly url: URL
  readonly status: number
  readonly headers: Headers
}

export interface UserAgent {
  readonly jar: CookieJar
  /** Every exchange so far, oldest first. */
  readonly hops: readonly Hop[]
  get(url: URL | string): Promise<Page | Departure>
  post(url: URL | string, form: Iterable<readonly [string, string]>): Promise<Page | Departure>
  submit(form: Form, filled?: Readonly<Record<string, string>>, pressed?: Button): Promise<Page | Departure>
}

export interface UserAgentOptions {
  /** The provider's origin; whatever is elsewhere is a departure. */
  readonly home: string
  readonly jar?: CookieJar
  readonly now?: () => number
  readonly headers?: Readonly<Record<string, string>>
}

const MOST_REDIRECTS = 12

export function createUserAgent({ home, now = Date.now, jar = createCookieJar(now), headers }: UserAgentOptions) {
  const origin = new URL(home).origin
  const hops: Hop[] = []

  /** Where a request comes from, as browsers tell it: an address that a person opens, a page of the provider, another site. */
  type Site = 'none' | 'same-origin' | 'cross-site'

  async function go(
    method: 'GET' | 'POST',
    target: URL,
    site: Site,
    body?: URLSearchParams,
  ): Promise<Page | Departure> {
    let url = target
    let how = method
    let content = body
    for (let count = 0; count < MOST_REDIRECTS; count++) {
      const response = await context(how, url, site, content)
      const location = response.headers.get('location')
      if (response.status < 300 || response.status > 399 || location === null) return arrive(url, response)
      await response.arrayBuffer()
      const next = new URL(location, url)
      if (next.origin !== origin) return { kind: 'left', method: 'GET', url: next, form: [], page: undefined }
      if (response.status !== 307 && response.status !== 308) {
        how = 'GET'
        content = undefined
      }
      url = next
    }
    throw new Error(`More than ${MOST_REDIRECTS} redirects from ${target.href}`)
  }

  async function context(method: string, url: URL, site: Site, body: URLSearchParams | undefined): Promise<Response> {
    const cookie = jar.header(url)
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      headers: { accept: 'text/html', 'sec-fetch-site': site, ...headers, ...(cookie === undefined ? {} : { cookie }) },
      ...(body === undefined ? {} : { body }),
    })
    jar.store(url, response.headers.getSetCookie())
    hops.push({ method, url, status: response.status, headers: response.headers })
    return response
  }

  async function arrive(url: URL, response: Response): Promise<Page | Departure> {
    const body = await response.text()
    const isHtml = response.headers.get('content-type')?.startsWith('text/html') ?? false
    const forms = isHtml ? readForms(body, url) : []
    const page: Page = { kind: 'page', url, status: response.status, headers: response.headers, body, forms }
    const [form] = forms
    if (form !== undefined && form.method === 'POST' && form.action.origin !== origin) {
      return { kind: 'left', method: 'POST', url: form.action, form: formValues(form, {}), page }
    }
    return page
  }

  const agent: UserAgent = {
    jar,
    hops,
    get: (url) => go('GET', new URL(url, home), 'none'),
    post: (url, form) =>
      go(
        'POST',
        new URL(url, home),
        'cross-site',
        new URLSearchParams([...form].map(([name, value]): [string, string] => [name, value])),
      ),
    submit(form, filled = {}, pressed = form.buttons[0]) {
      const values = new URLSearchParams(formValues(form, filled, pressed))
      if (form.method === 'POST') return go('POST', form.action, 'same-origin', values)
      const url = new URL(form.action)
      url.search = values.toString()
      return go('GET', url, 'same-origin')
    },
  }
  return agent
}

/** For who expects to stay. */
export function requirePage(end: Page | Departure): Page {
  if (end.kind === 'left') throw new Error(`Sent away to ${end.url.href}`)
  return end
}
