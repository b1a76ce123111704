/** `/docs`: every page and picture of the documentation, its links, the search, and what browsers may keep. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { VERSION } from 'gatehouse-protocol'
import { highlight } from '../../packages/server/src/site/documentation/highlight.ts'
import { parseMarkdown, renderMarkdown, splitSections } from '../../packages/server/src/site/documentation/markdown.ts'
import { anyText } from '../support/any-text.ts'
import { decodeEntities } from '../support/html-form.ts'
import { useServer } from '../support/server.ts'

const root = new URL('../../', import.meta.url)
const html = { headers: { accept: 'text/html' } }

interface Found {
  readonly count: number
  readonly suggestion?: string
  readonly hits: readonly {
    readonly url: string
    readonly page: string
    readonly heading?: string
    readonly extract: readonly { readonly text: string; readonly isMarked: boolean }[]
  }[]
}

describe('the documentation', () => {
  const pages = new Map<string, string>()
  const server = useServer({}, async () => {
    for await (const file of glob('**/*.md', { cwd: new URL('docs', root) })) {
      const slug = file.replace(/\.md$/, '').replace(/(^|\/)README$/, '')
      const path = `/docs${slug === '' ? '' : `/${slug}`}`
      const response = await fetch(server.issuer + path, html)
      assert.equal(response.status, 200, path)
      pages.set(path, await response.text())
    }
  })

  test('every page is there, with its title and without Markdown, comments or loose HTML', async () => {
    assert.ok(pages.size > 40)
    assert.match(pages.get('/docs/settings') ?? '', /<title>Settings · Documentation · Gatehouse<\/title>/)
    assert.match(pages.get('/docs') ?? '', new RegExp(`Gatehouse ${RegExp.escape(VERSION)}`))
    for (const [path, body] of pages) {
      const article = /<article[^>]*>(.*)<\/article>/s.exec(body)?.[1] ?? ''
      assert.match(article, /<h1 id="[^"]+">/, path)
      const outside = article.replace(/<pre.*?<\/pre>|<code.*?<\/code>/gs, '')
      assert.ok(!/<!--|style=|&lt;[a-z!/]/.test(outside), `${path} has HTML of its own`)
      assert.ok(!/\]\(|^#+ |\*\*/m.test(outside), `${path} has Markdown left`)
    }
  })

  test('pages show the address of this server, except where they name the default of the program', () => {
    const { issuer } = server
    assert.notEqual(issuer, 'http://localhost:5080')
    assert.match(pages.get('/docs/live') ?? '', new RegExp(`curl -N ${RegExp.escape(issuer)}/query`))
    assert.ok(
      pages.get('/docs/console')?.includes(`<a href="${issuer}/console" rel="noreferrer">${issuer}/console</a>`),
    )
    const others = [...pages].filter(([, body]) => body.includes('http://localhost:5080')).map(([path]) => path)
    assert.deepEqual(others.sort(), ['/docs', '/docs/commands', '/docs/install'])
    assert.match(pages.get('/docs/commands') ?? '', /the default is http:\/\/localhost:5080/)
  })

  test('every link leads to a page that is served, and to a heading that it has', async () => {
    const broken: string[] = []
    let count = 0
    const changelog = await fetch(`${server.issuer}/docs/changelog`, html)
    const all = new Map([...pages, ['/docs/changelog', await changelog.text()]])
    for (const [path, body] of all) {
      for (const [, target = ''] of body.matchAll(/<a [^>]*?href="((?:\/docs|#)[^"]*)"/g)) {
        const [page = '', anchor] = decodeEntities(target).split('#')
        const found = page === '' ? body : all.get(page)
        count++
        if (anchor !== undefined && anchor !== '' && found?.includes(`id="${anchor}"`) !== true)
          broken.push(`${path}: ${target}`)
        else if (found === undefined && !/\.(json|svg)$/.test(page) && !page.startsWith('/docs/search'))
          broken.push(`${path}: ${target}`)
      }
    }
    assert.ok(count > 1000, `${count} links`)
    assert.deepEqual(broken, [])
  })

  test('files that are not part of the documentation are named, not linked', () => {
    const body = pages.get('/docs/conformance') ?? ''
    assert.match(body, /<span title="\.\.\/test\/[^"]+">/)
    assert.doesNotMatch(body, /href="[^"]*\.test\.ts/)
  })

  test('pictures and the schema are served as they are', async () => {
    const [, picture = ''] = /<img src="([^"]+)"/.exec(pages.get('/docs/concepts') ?? '') ?? []
    assert.equal(picture, '/docs/concepts.svg')
    const response = await fetch(server.issuer + picture)
    assert.equal(response.headers.get('content-type'), 'image/svg+xml')
    assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'/)
    assert.equal(await response.text(), await readFile(new URL('docs/concepts.svg', root), 'utf8'))
    const schema = await fetch(`${server.issuer}/docs/gatehouse.schema.json`)
    assert.equal(typeof ((await schema.json()) as { $schema: string }).$schema, 'string')
  })

  test('what is not part of it is not found', async () => {
    for (const path of [
      'nothing',
      'decisions/nothing',
      '..%2fpackage.json',
      '%2e%2e/README.md',
      'README.md',
      'settings/',
    ])
      assert.equal((await fetch(`${server.issuer}/docs/${path}`, html)).status, 404, path)
    const slash = await fetch(`${server.issuer}/docs/`, { ...html, redirect: 'manual' })
    assert.deepEqual([slash.status, slash.headers.get('location')], [308, '/docs'])
  })

  test('RFC 9110 §13.1.2: a browser that has a page gets 304 while it is unchanged; each language is a different page', async () => {
    const first = await fetch(`${server.issuer}/docs/tokens`, html)
    const etag = first.headers.get('etag') ?? ''
    assert.equal(first.headers.get('cache-control'), 'no-cache')
    assert.match(first.headers.get('vary') ?? '', /accept-language/)
    const ask = (known: string, language = 'en') =>
      fetch(`${server.issuer}/docs/tokens`, {
        headers: { accept: 'text/html', 'if-none-match': known, 'accept-language': language },
      })
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const again = await ask(known)
      assert.deepEqual([again.status, await again.text()], [304, ''], known)
    }
    assert.equal((await ask('"other"')).status, 200)
    const german = await ask(etag, 'de')
    assert.equal(german.status, 200)
    assert.match(await german.text(), /<html lang="de">.*<article class="article" lang="en">/s)
  })

  test('the policy allows only our own script', async () => {
    const policy = (await fetch(`${server.issuer}/docs`, html)).headers.get('content-security-policy')
    assert.equal(
      policy,
      "default-src 'none'; style-src 'self'; img-src 'self' data:; font-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    )
  })

  async function search(query: string): Promise<Found> {
    const url = `${server.issuer}/docs/search?q=${encodeURIComponent(query)}`
    const response = await fetch(url, { headers: { accept: 'application/json' } })
    assert.equal(response.status, 200)
    return (await response.json()) as Found
  }

  test('the search finds sections by their title first, and by names of settings and codes', async () => {
    const [best] = (await search('refresh tokens')).hits
    assert.deepEqual(
      [best?.url, best?.page, best?.heading],
      ['/docs/tokens#refresh-tokens', 'Tokens', 'Refresh tokens'],
    )
    assert.ok(best?.extract.some(({ text, isMarked }) => isMarked && /^refresh$/i.test(text)))
    assert.equal((await search('Backup and restore')).hits[0]?.url, '/docs/backup')
    assert.ok((await search('http.not_found')).hits.some(({ url }) => url.startsWith('/docs/errors')))
    assert.equal((await search('stream_origins')).hits[0]?.url, '/docs/settings#stream_origins')
    assert.ok(
      (await search('GATEHOUSE_STREAM_ORIGINS')).hits.some(({ url }) => url === '/docs/settings#stream_origins'),
    )
    assert.ok((await search('refre')).count > 0, 'the beginning of a word')
    for (const { url } of (await search('token')).hits) {
      const [page = '', anchor] = url.split('#')
      const body = pages.get(page) ?? (await (await fetch(server.issuer + page, html)).text())
      assert.ok(anchor === undefined || body.includes(`id="${anchor}"`), url)
    }
  })

  test('words of other products lead to the page that answers, and the changelog comes last', async () => {
    for (const [query, url] of [
      ['upsert', '/docs/iql#writing'],
      ['pagination', '/docs/query#pagination'],
      ['LDAP', '/docs/sign-in#other-identity-providers-scim-ldap-and-saml'],
      ['export configuration', '/docs/configuration#export-configuration'],
      ['time zone', '/docs/iql#time-zones'],
      ['sizing', '/docs/scaling#sizing'],
    ] as const)
      assert.equal((await search(query)).hits[0]?.url, url, query)
    for (const query of ['upsert', 'time zone', 'worker', 'export', 'live query']) {
      const urls = (await search(query)).hits.map((hit) => hit.url)
      const first = urls.findIndex((url) => url.startsWith('/docs/changelog'))
      const after = first < 0 ? [] : urls.slice(first).filter((url) => !url.startsWith('/docs/changelog'))
      assert.deepEqual(after, [], query)
    }
  })

  test('all words must occur; a misspelled one gets a suggestion', async () => {
    assert.ok((await search('refresh rotation')).count < (await search('refresh')).count)
    assert.deepEqual(await search('zzzzqqqq'), { hits: [], count: 0 })
    assert.equal((await search('backupp')).suggestion, 'backup')
    assert.deepEqual(await search('  '), { hits: [], count: 0 })
  })

  test('the results are a page too, and contain nothing of the query but its text', async () => {
    const ask = async (query: string) =>
      (await fetch(`${server.issuer}/docs/search?q=${encodeURIComponent(query)}`, html)).text()
    assert.match(await ask('token'), /<mark>token<\/mark>/i)
    assert.match(await ask('backupp'), /<a href="\/docs\/search\?q=backup">backup<\/a>/)
    const hostile = await ask('"><script>alert(1)</script>')
    assert.doesNotMatch(hostile, /<script>|"><scr/)
    assert.match(await (await fetch(`${server.issuer}/docs/search?q=a&q=b`, html)).text(), /Results for “a b”/)
  })

  test('no query is too odd', async () => {
    await fc.assert(
      fc.asyncProperty(anyText({ maxLength: 300 }), async (query) => {
        assert.ok((await search(query)).count >= 0)
      }),
      { numRuns: 50 },
    )
  })
})

test('Markdown becomes HTML of known elements only, whatever is in it', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '<script>',
      '<img src=x onerror=alert(1)>',
      '](javascript:alert(1))',
      '[a](b "c")',
      '![',
      '|',
      '\n',
    ),
    fc.constantFrom(
      '# ',
      '```html\n',
      '`',
      '<!-- ',
      '-->',
      '<br>',
      '&lt;',
      '"',
      "'",
      '**',
      '- ',
      '| a | b |\n|---|---|\n',
    ),
    fc.string({ unit: 'grapheme', maxLength: 12 }),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      const written = renderMarkdown(parseMarkdown(pieces.join('')), (target) =>
        /^(https?:|#)/.test(target) ? target : undefined,
      )
      for (const [tag, name = ''] of written.matchAll(/<\/?([a-z0-9]+)[^>]*>/gi)) {
        assert.match(
          name,
          /^(h[1-6]|p|a|span|strong|em|del|code|pre|div|ul|ol|li|table|thead|tbody|tr|th|td|blockquote|hr|br|img|input)$/,
          tag,
        )
        assert.doesNotMatch(tag.replace(/"[^"]*"/g, '""'), /\son|style=|javascript:/i)
      }
    }),
    { numRuns: 1000 },
  )
})

test('headings have the anchors of GitHub, and sections their text', () => {
  const page = parseMarkdown(
    '# A & B: `c_d`\n\nOne.\n\n## Same\n\n| a | b |\n|---|---|\n| c | **d** |\n\n## Same\n\n- e\n- [f](g.md)\n',
  )
  assert.deepEqual(
    page.headings.map(({ id }) => id),
    ['a--b-c_d', 'same', 'same-1'],
  )
  assert.deepEqual(
    splitSections(page).map(({ text }) => text),
    ['One.', 'a b c d', 'e f'],
  )
})

test('code keeps its text when it is coloured', () => {
  const code = 'SELECT \'a<b\' -- why & how\nFROM "x" WHERE n = 12'
  const written = highlight(code, 'sql')
  assert.match(written, /<span class="code-comment">-- why &amp; how<\/span>/)
  assert.match(written, /<span class="code-text">&#39;a&lt;b&#39;<\/span>/)
  for (const language of ['sql', 'ts', 'sh', 'json', 'python', 'unknown', 'constructor', ''])
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        assert.equal(decodeEntities(highlight(text, language).replace(/<[^>]+>/g, '')), text)
      }),
      { numRuns: 200 },
    )
})
