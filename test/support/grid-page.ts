/** The grid of the console alone, in a page with the policy of the console. */
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { designTokens } from '../../packages/server/src/identity/pages/tokens.ts'
import type { BrowserContext, Page } from './chromium.ts'

const ADDRESS = 'https://grid.test/'
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:"

export async function openGridPage(context: BrowserContext): Promise<Page> {
  const files = await buildPage()
  const page = await context.newPage()
  await page.route(`${ADDRESS}**`, async (route) => {
    const name = new URL(route.request().url()).pathname
    const body = files.get(name)
    const contentType = name.endsWith('.js') ? 'text/javascript' : name.endsWith('.css') ? 'text/css' : 'text/html'
    await route.fulfill({ body: body ?? '', contentType, headers: { 'content-security-policy': POLICY } })
  })
  await page.goto(ADDRESS)
  await page.evaluate(
    "new Promise((done) => (document.readyState === 'complete' ? done() : addEventListener('load', done)))",
  )
  return page
}

async function buildPage(): Promise<Map<string, string>> {
  const contents = `
    import '../../packages/console/src/styles/main.css'
    import { render, h } from 'preact'
    import { Grid } from '../../packages/console/src/grid/grid.tsx'
    import { GridModel } from '../../packages/console/src/grid/model.ts'
    Object.assign(globalThis, {
      GridModel,
      show: (model, rest = {}) => render(h(Grid, { model, label: 'Rows', ...rest }), document.querySelector('main')),
    })`
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: fileURLToPath(new URL('.', import.meta.url)), loader: 'tsx' },
    bundle: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    outfile: 'page.js',
    write: false,
    logLevel: 'error',
  })
  const text = (end: string) => outputFiles.find(({ path }) => path.endsWith(end))?.text ?? ''
  const layout = 'html,body{height:100%;overflow:hidden}main{display:block;height:100%}'
  const html =
    '<!doctype html><html lang="en"><title>Grid</title><link rel="stylesheet" href="/page.css"><main></main><script type="module" src="/page.js"></script></html>'
  return new Map([
    ['/', html],
    ['/page.js', text('.js')],
    ['/page.css', `${designTokens('#2456c8')}${text('.css')}${layout}`],
  ])
}
