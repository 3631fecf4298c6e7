/**
 * The request log: the list at /requests, one request at /requests/:requestID. Only tells the two apart.
 */
import { useParams } from '../router.tsx';
import { RequestPage } from './requests-detail.tsx';
import { RequestListPage } from './requests-list.tsx';

export function RequestsPage() {
  const { requestID } = useParams();
  return requestID === undefined ? <RequestListPage /> : <RequestPage requestID={requestID} />;
}
