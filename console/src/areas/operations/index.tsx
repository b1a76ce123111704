/** The area Operations. */
import type { AreaProps } from '../../shell/area.ts'
import { Page } from '../../ui/index.ts'

export default function Operations(_: AreaProps) {
  return <Page title="Operations">{null}</Page>
}
