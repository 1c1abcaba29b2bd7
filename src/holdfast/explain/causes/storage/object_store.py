"""What object stores and hubs answer, in the words of their clients: the code of the answer says what is wrong."""

import re

from holdfast.explain.readings.error import ErrorText
from holdfast.explain.rule import Evidence

#: There are no credentials, or they are wrong or expired.
NO_CREDENTIALS = ErrorText(
    r"\b(?:NoCredentialsError|PartialCredentialsError|CredentialRetrievalError|TokenRetrievalError|"
    r"UnauthorizedSSOTokenError|DefaultCredentialsError|ReauthFailError|GatedRepoError|"
    r"LocalTokenNotFoundError)\b|"
    r"RefreshError: |\bHttpError: .*, 401$|Invalid Credentials\b|"
    r"An error occurred \((?:Expired\w+|InvalidAccessKeyId|InvalidToken|SignatureDoesNotMatch|401)\)|"
    r"AuthenticationFailed\b|InvalidAuthenticationInfo\b|: 401 [A-Z]+ https?://"
)
#: The credentials are known, and may not do this.
REFUSED = ErrorText(
    r"An error occurred \((?:\w*AccessDenied\w*|Forbidden|403)\)|\bForbidden: https?://|: 403 [A-Z]+ https?://|"
    r"Authorization(?:PermissionMismatch|Failure)\b|InsufficientAccountPermissions\b"
)
#: Patterns of what is not there: a bucket, a container, an object.
NOT_THERE = r"An error occurred \((?:NoSuchKey|NoSuchBucket|404)\)|\b(?:Blob|Container)NotFound\b|: 404 [A-Z]+ https?://"
#: The server itself fails, and its client has given up asking again.
SERVER_FAILED = ErrorText(
    r"An error occurred \((?:InternalError|SlowDown|ServiceUnavailable|RequestTimeout|50[0-4])\)|: 50[0-4] [A-Z]+ https?://|"
    r"\bHttpError: .*, 50[0-4]$|\bbackendError\b|\bServerBusy\b"
)
_ADDRESS = re.compile(r"\b(?:gs|s3a?|abfss?|az|hf)://[^\s'\",)]+|https?://[^\s'\",)]+")
#: Signs of whose storage it is, in addresses, types of errors and frames.
_PROVIDERS = {
    "google": r"google|gcsfs|\bgs://|storage\.\w+\.\w+",
    "amazon": r"boto|s3fs|aws|NoCredentialsError|\bs3a?://|An error occurred \(",
    "azure": r"azure|blob\.core|\babfss?://|\baz://",
    "huggingface": r"hugging|GatedRepo|LocalToken|\bhf://",
}


def address(evidence: Evidence) -> str:
    """The address that the error names, without its query, or ""."""
    found = _ADDRESS.search(evidence.error_text)
    return found[0].split("?")[0].rstrip(".:") if found else ""


def provider(evidence: Evidence) -> str:
    """Whose storage it is, by the error and the frames of the client, or ""."""
    error = evidence.error
    said = "\n".join([evidence.error_text, *(error.frames if error is not None else ())])
    return next((name for name, signs in _PROVIDERS.items() if re.search(signs, said, re.IGNORECASE)), "")
