/** The components that all areas share; import from here.
 *
 * Pages     Page (title, parents, actions, bar, full), Section, Tabs (links), useTitle
 * Actions   Button (primary, danger, plain, busy), IconButton, ButtonLink, Menu (items, links, choices), Copy, copyText
 * Forms     Form, useSubmit; TextField, TextArea, Select, Checkbox(es), Switch, Segments, SearchField; Field around a control of your own
 *           SignInDemandFields, demandText (step-up)
 * Data      Table (small lists; the grid for large ones), dangerColumn, Facts, Code, Keys, Time, duration, count, bytes, Progress
 * Waiting   useLoad and Await (load, show, retry), useDelayed, Loading, Spinner, useSlow
 * Files     FILE_FORMATS, readFile (a reply, with progress), saveFile
 * Words     Empty, Forbidden, ErrorNotice (code, hint, request id), Notice, Badge, LicenceBadges, DelayBadge
 * Dialogs   Dialog, FormDialog; confirm(), toast() and announce() are in ../shell/{dialogs,toasts,announce}.tsx
 * Icons     Icon; add paths to icon.tsx
 */
export { Button, ButtonLink, type ButtonProps, classes, IconButton } from './button.tsx'
export { Copy, copyText } from './copy.tsx'
export {
  Code,
  count,
  type DataColumn,
  dangerColumn,
  Facts,
  IS_MAC,
  Keys,
  keyNames,
  Progress,
  rowCount,
  Section,
  Table,
} from './data.tsx'
export { Dialog, type DialogProps, useModal } from './dialog.tsx'
export {
  Checkbox,
  Checkboxes,
  type Choice,
  Field,
  type FieldProps,
  SearchField,
  Segments,
  Select,
  Switch,
  TextArea,
  TextField,
} from './field.tsx'
export { FILE_FORMATS, type FileFormat, readFile, saveFile } from './file.ts'
export { Form, FormDialog, useSubmit } from './form.tsx'
export { Icon, type IconName } from './icon.tsx'
export { DelayBadge, LicenceBadges } from './licence.tsx'
export { Await, type Loaded, useDelayed, useLoad } from './load.tsx'
export { Menu, type MenuItem, placeNextTo } from './menu.tsx'
export { Badge, Empty, ErrorNotice, explain, Forbidden, Notice } from './notice.tsx'
export { bytes } from './number.ts'
export { Page, type PageProps, useTitle } from './page.tsx'
export {
  demandedNumber,
  demandText,
  NO_DEMAND,
  readDemand,
  type SignInDemand,
  SignInDemandFields,
} from './sign-in-demand.tsx'
export { Loading, Spinner, useSlow } from './spinner.tsx'
export { type Tab, Tabs } from './tabs.tsx'
export { duration, relative, Time } from './time.tsx'
