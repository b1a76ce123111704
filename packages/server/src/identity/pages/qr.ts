/** QR codes (ISO/IEC 18004) as inline SVG. */
import { type Html, html } from './html.ts'

/** Modules of light margin around the symbol (ISO/IEC 18004 §6.3.8). */
const QUIET_ZONE = 4

/** The text must be ASCII. The encoder is loaded on first use: few requests need it. */
export async function qrSvg(text: string, label: string): Promise<Html> {
  const [{ correction, generate, mode }, { toSvgPath }] = await Promise.all([
    import('lean-qr'),
    import('lean-qr/extras/svg'),
  ])
  const code = generate(text, {
    minCorrectionLevel: correction.M,
    maxCorrectionLevel: correction.M,
    modes: [mode.ascii],
  })
  const edge = code.size + 2 * QUIET_ZONE
  const viewBox = `${-QUIET_ZONE} ${-QUIET_ZONE} ${edge} ${edge}`
  return html`<svg class="qr" role="img" aria-label="${label}" viewBox="${viewBox}" shape-rendering="crispEdges"><path fill="#000" fill-rule="evenodd" d="${toSvgPath(code)}"/></svg>`
}
