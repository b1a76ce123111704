/** A one-time link: shown once, to copy, to print, or to scan. */
import { useEffect, useState } from 'preact/hooks'
import { server } from '../../server.ts'
import { href } from '../../shell/router.ts'
import { toast } from '../../shell/toasts.tsx'
import { Button, copyText, Notice, Time } from '../../ui/index.ts'
import type { Link } from './types.ts'

export function OneTimeLink({ link }: { readonly link: Link }) {
  const { url = '', username, expires_at: expires, kind, sent_to: sentTo } = link
  const copy = async () => {
    await copyText(url)
    toast('The link was copied')
  }
  if (sentTo !== null)
    return (
      <p>
        A link for <strong>{username}</strong> is mailed to <strong>{sentTo}</strong>. It works once, until{' '}
        <Time at={expires} />. <a href={href('people', 'mail')}>Mail</a> shows whether it was delivered.
      </p>
    )
  return (
    <div class="one-time-link">
      <h2 class="print-only">{server.name}</h2>
      <p>
        {kind === 'reset' ? 'With this link ' : 'This invites '}
        <strong>{username}</strong>
        {kind === 'reset' ? ' chooses a new password.' : ': with the link they choose a password and sign in.'} It works
        once, until <Time at={expires} />.
      </p>
      <div class="one-time-link-body">
        <QrCode text={url} />
        <div class="one-time-link-side">
          <code class="one-time-link-url">{url}</code>
          <div class="row no-print">
            <Button kind="primary" icon="copy" onClick={copy}>
              Copy the link
            </Button>
            <Button icon="print" onClick={() => print()}>
              Print
            </Button>
          </div>
        </div>
      </div>
      <div class="no-print">
        <Notice kind="warning">
          This is the only time the link is shown. Hand it over so that no one else sees it. You can create a new one at
          any time.
        </Notice>
      </div>
    </div>
  )
}

/** Modules of light margin around the symbol (ISO/IEC 18004 §6.3.8). */
const QUIET_ZONE = 4

/** The encoder is loaded when it is needed: few pages show one. */
function QrCode({ text }: { readonly text: string }) {
  const [drawn, setDrawn] = useState<{ readonly path: string; readonly size: number }>()
  useEffect(() => {
    let isCurrent = true
    Promise.all([import('lean-qr'), import('lean-qr/extras/svg')]).then(
      ([{ generate }, { toSvgPath }]) => {
        const code = generate(text)
        if (isCurrent) setDrawn({ path: toSvgPath(code), size: code.size })
      },
      () => {},
    )
    return () => {
      isCurrent = false
    }
  }, [text])
  const edge = (drawn?.size ?? 33) + 2 * QUIET_ZONE
  return (
    <svg
      class="qr"
      role="img"
      aria-label="The link as a QR code"
      viewBox={`${-QUIET_ZONE} ${-QUIET_ZONE} ${edge} ${edge}`}
      shape-rendering="crispEdges"
    >
      {drawn !== undefined && <path fill="#000" fill-rule="evenodd" d={drawn.path} />}
    </svg>
  )
}
