"""The case study: whom to train, from the NSW experiment, by weighted trees and as a policy."""

from certree.study.case import CaseStudy, Matching, run
from certree.study.folder import find_files, has_pictures, is_study, write
from certree.study.summary import summarise

__all__ = ["CaseStudy", "Matching", "find_files", "has_pictures", "is_study", "run", "summarise", "write"]
