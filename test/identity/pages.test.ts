/** The pages: escaping, languages, brand, security headers. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { contrast, DARK_SURFACES, LIGHT_SURFACES, shadesOn } from '../../packages/server/src/identity/pages/brand.ts'
import { fill, html } from '../../packages/server/src/identity/pages/html.ts'
import { chooseLanguage, LANGUAGE_TAGS } from '../../packages/server/src/identity/pages/messages/language.ts'
import { languageTag, offeredLanguages } from '../../packages/server/src/lib/language-tags.ts'
import { isTimeZone, timeZones } from '../../packages/server/src/lib/time-zones.ts'
import { anyText } from '../support/any-text.ts'
import { checks } from '../support/checks.ts'
import { openPlace } from '../support/engines.ts'
import { decodeEntities, linksTo } from '../support/html-form.ts'
import { ALICE, authorizeUrl, openSignInPlace, type SignInPlace } from '../support/sign-in-place.ts'
import { requirePage } from '../support/user-agent.ts'
import { signIn } from '../support/visitor.ts'

test('C-06: the html tag escapes every text', () => {
  fc.assert(
    fc.property(anyText(), (text) => {
      const written = html`<p title="${text}">${text}</p>`.toString()
      const [, attribute, content] = /^<p title="([^"<>]*)">([^<>]*)<\/p>$/s.exec(written) ?? []
      return decodeEntities(attribute ?? '') === text && decodeEntities(content ?? '') === text
    }),
    { numRuns: checks(2000) },
  )
  assert.equal(html`${[html`<b>${'<'}</b>`, undefined, false, 3]}`.toString(), '<b>&lt;</b>3')
})

test('WCAG 2.2 §1.4.3: shades of every brand colour are readable on light and dark backgrounds', () => {
  const channel = fc.integer({ min: 0, max: 255 }).map((value) => value.toString(16).padStart(2, '0'))
  fc.assert(
    fc.property(fc.tuple(channel, channel, channel), ([red, green, blue]) => {
      for (const surfaces of [LIGHT_SURFACES, DARK_SURFACES]) {
        const { accent, button, buttonHover, buttonText } = shadesOn(surfaces, `#${red}${green}${blue}`)
        for (const surface of Object.values(surfaces))
          assert.ok(contrast(accent, surface) >= 4.5, `${accent} on ${surface}`)
        assert.ok(contrast(button, buttonText) >= 4.5, `${buttonText} on ${button}`)
        assert.ok(contrast(buttonHover, buttonText) >= 4.5, `${buttonText} on ${buttonHover}`)
      }
    }),
    { numRuns: checks(2000) },
  )
  assert.equal(contrast('#000000', '#ffffff'), 21)
})

test('the language: ui_locales, then Accept-Language, then English; no value is an error', () => {
  const table = [
    [undefined, undefined, 'en'],
    ['de', 'en', 'de'],
    ['se it de-CH en', 'en', 'de'],
    [undefined, 'fr-CA,en;q=0.5', 'fr'],
    [undefined, 'es-MX,en;q=0.5', 'es'],
    ['se', 'de-AT;q=0.8,en;q=0.5', 'de'],
    [undefined, 'en;q=0.1, de;q=0.9', 'de'],
    [undefined, 'de;q=0, en', 'en'],
    ['constructor __proto__', ';;q=,,*;q=x', 'en'],
    ['DE', undefined, 'de'],
  ] as const
  for (const [uiLocales, accept, tag] of table) assert.equal(chooseLanguage(uiLocales, accept).tag, tag, `${uiLocales}`)
  assert.deepEqual(LANGUAGE_TAGS, ['en', 'de', 'es', 'fr'])
})

test('numbers are singular and plural where they should be, in every language', () => {
  for (const tag of LANGUAGE_TAGS) {
    const { messages } = chooseLanguage(tag, undefined)
    const texts: readonly (readonly [one: string, two: string])[] = [
      [messages.tryLater(1), messages.tryLater(2)],
      [messages.recoveryLeft(1), messages.recoveryLeft(2)],
      [messages.searchCount(1), messages.searchCount(2)],
      [messages.rightsOfRoles(['a']), messages.rightsOfRoles(['a', 'b'])],
    ]
    for (const [one, two] of texts) {
      assert.notEqual(one.replace('1', '2'), two, `${tag}: ${one}`)
      assert.doesNotMatch(
        one,
        /\b1 (seconds|Sekunden|secondes|segundos|minutes|Minuten|codes|Codes|códigos|places|Stellen|résultats|lugares)\b/,
        tag,
      )
    }
    assert.match(messages.tryLater(1), /1 (second|Sekunde|seconde|segundo)\b/)
    for (const seconds of [60, 89, 90, 120, 121])
      assert.doesNotMatch(messages.tryLater(seconds), /\b1 (minutes|Minuten|minutos)\b/)
  }
})

test('a message can contain a link: its text is escaped, the link is not', () => {
  const link = html`<a href="#">${'<x>'}</a>`
  assert.equal(fill((value) => `Ask ${value} & co, ${value}.`, link).toString(), `Ask ${link} &amp; co, ${link}.`)
})

test('all time zones and languages on offer are known, and are accepted', () => {
  for (const zone of timeZones()) assert.ok(isTimeZone(zone), zone)
  assert.ok(timeZones().includes('Europe/Kyiv') && !timeZones().includes('Europe/Kiev') && isTimeZone('Europe/Kiev'))
  assert.equal(timeZones().at(-1), 'UTC')
  for (const { tag, name } of offeredLanguages()) {
    assert.equal(languageTag(tag), tag)
    assert.notEqual(name.toLowerCase(), tag.toLowerCase())
  }
})

describe('served pages', () => {
  let place: SignInPlace
  let leave: () => Promise<void>
  before(async () => {
    const opened = await openPlace('sqlite')
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-logo-'))
    const logo = join(folder, 'logo.svg')
    leave = async () => {
      await opened.leave()
      await rm(folder, { recursive: true })
    }
    await writeFile(logo, '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>')
    place = await openSignInPlace(opened.place, {
      flags: {
        '--brand-name': 'North & "Wind"',
        '--brand-colour': '#0b6e4f',
        '--brand-logo': logo,
        '--support-contact': 'help@example.com',
      },
    })
  })
  after(async () => {
    await place.close()
    await leave()
  })

  test('pages show the brand; its logo is served from our origin and cached indefinitely', async () => {
    const page = requirePage(await place.newAgent().get(authorizeUrl(place.server.issuer)))
    assert.match(page.body, /<title>Sign in · North &amp; &quot;Wind&quot;<\/title>/)
    const assets = [...page.body.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path)
    assert.deepEqual(assets.map((path) => path.split('.').at(-1)).sort(), ['css', 'js', 'js', 'svg', 'svg', 'woff2'])
    for (const path of assets) {
      const response = await fetch(place.server.issuer + path)
      assert.equal(response.status, 200)
      assert.match(response.headers.get('cache-control') ?? '', /immutable/)
      assert.match(
        response.headers.get('content-type') ?? '',
        /^(text\/css|text\/javascript|image\/svg\+xml|font\/woff2)/,
      )
      assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'/)
    }
  })

  test('a person who has forgotten the password learns whom to ask', async () => {
    const page = requirePage(await place.newAgent().get(authorizeUrl(place.server.issuer)))
    assert.match(
      page.body,
      /Forgotten your password\?[\s\S]*Ask <a href="mailto:help@example.com">help@example.com<\/a> for a link/,
    )
    const german = requirePage(await place.newAgent().get(authorizeUrl(place.server.issuer, { ui_locales: 'de' })))
    assert.match(german.body, /Passwort vergessen\?[\s\S]*Bitten Sie <a href="mailto:help@example.com">/)
  })

  test('pages after which nothing follows lead somewhere: signed out, still signed in, an error, an expired page', async () => {
    const agent = place.newAgent()
    await signIn(agent, requirePage(await agent.get('/account')), ALICE)
    const ask = async () =>
      requirePage(await agent.get('/connect/endsession')).forms.find(({ id }) => id === 'sign-out')
    const press = async (value: string) => {
      const form = await ask()
      assert.ok(form)
      return requirePage(
        await agent.submit(
          form,
          {},
          form.buttons.find((button) => button.value === value),
        ),
      )
    }
    const stay = await press('stay')
    assert.deepEqual([linksTo(stay.body, '/account').length, linksTo(stay.body, '/').length], [1, 1])
    const left = await press('leave')
    assert.deepEqual([linksTo(left.body, '/sign-in').length, linksTo(left.body, '/').length], [1, 1])
    const expired = requirePage(await agent.get('/sign-in?flow=nothing'))
    assert.deepEqual([linksTo(expired.body, '/sign-in').length, linksTo(expired.body, '/').length], [1, 1])
    const error = requirePage(await agent.get('/connect/authorize?client_id=nobody'))
    assert.equal(linksTo(error.body, '/').length, 1)
    assert.match(error.body, /contact <a href="mailto:help@example.com">/)
  })

  test('ui_locales applies to every page of a request', async () => {
    const agent = place.newAgent({ 'accept-language': 'en' })
    const first = requirePage(await agent.get(authorizeUrl(place.server.issuer, { ui_locales: 'xx de' })))
    assert.match(first.body, /<html lang="de">/)
    const wrong = requirePage(await signIn(agent, first, { ...ALICE, password: 'not the password' }))
    assert.match(wrong.body, /Benutzername oder Passwort ist falsch/)
    const consent = requirePage(await signIn(agent, wrong, ALICE))
    assert.match(consent.body, /möchte auf Ihr Konto zugreifen/)
  })

  test('B-55: login_hint is filled in, for existing and unknown users alike', async () => {
    for (const hint of ['alice', 'nobody', '"><script>alert(1)</script>']) {
      const page = requirePage(await place.newAgent().get(authorizeUrl(place.server.issuer, { login_hint: hint })))
      const field = page.forms[0]?.fields.find(({ name }) => name === 'username')
      assert.equal(field?.value, hint)
      assert.doesNotMatch(page.body, /<script>/)
    }
  })

  test('C-111: after many failures the page says how long to wait; after that the user can sign in', async () => {
    const agent = place.newAgent()
    let page = requirePage(await agent.get(authorizeUrl(place.server.issuer)))
    for (let tries = 0; tries < 12 && page.status !== 429; tries++) {
      page = requirePage(await signIn(agent, page, { ...ALICE, password: 'not the password' }))
    }
    assert.equal(page.status, 429)
    assert.match(page.body, /Too many attempts\. Try again in \d+ (seconds?|minutes)/)
    const early = requirePage(await signIn(agent, page, ALICE))
    assert.equal(early.status, 429)
    place.clock.advance(Number(early.headers.get('retry-after')) * 1000)
    assert.match(requirePage(await signIn(agent, early, ALICE)).url.pathname, /consent/)
  })

  test('a cancelled sign-in is access_denied; an expired page says so', async () => {
    const agent = place.newAgent()
    const page = requirePage(await agent.get(authorizeUrl(place.server.issuer)))
    const form = page.forms.find(({ id }) => id === 'sign-in')
    assert.ok(form)
    const cancel = form.buttons.find(({ value }) => value === 'cancel')
    const end = await agent.submit(form, {}, cancel)
    assert.ok(end.kind === 'left')
    assert.equal(end.url.searchParams.get('error'), 'access_denied')
    const again = requirePage(await agent.submit(form, ALICE))
    assert.equal(again.status, 400)
    assert.match(again.body, /This page has expired/)
    const otherBrowser = requirePage(await place.newAgent().get(page.url))
    assert.equal(otherBrowser.status, 400)
  })

  test('the CSP of each page allows only what the page needs', async () => {
    const agent = place.newAgent()
    const page = requirePage(await agent.get(authorizeUrl(place.server.issuer)))
    const policy = page.headers.get('content-security-policy') ?? ''
    assert.doesNotMatch(policy, /unsafe/)
    assert.match(policy, /default-src 'none'/)
    assert.match(policy, /form-action 'self' https:\/\/app\.example\.com(;|$)/)
    const consent = requirePage(await signIn(agent, page, ALICE))
    assert.doesNotMatch(consent.headers.get('content-security-policy') ?? '', /script-src/)
    assert.match(consent.body, /Web &amp; &lt;b&gt;Co&lt;\/b&gt; wants to access your account/)
    assert.match(consent.body, /Alice &lt;i&gt;Liddell&lt;\/i&gt;/)
  })

  test('B-08: authorize and endsession do not accept PUT and DELETE', async () => {
    for (const path of ['/connect/authorize', '/connect/endsession']) {
      for (const method of ['PUT', 'DELETE']) {
        const response = await fetch(place.server.issuer + path, { method })
        assert.equal(response.status, 405, `${method} ${path}`)
        assert.equal(response.headers.get('allow'), 'GET, HEAD, POST')
      }
    }
  })
})
